import { z } from 'zod';

export type JsonObject = Record<string, unknown>;

/** `input` is what a client sends, `output` what it receives. They differ by defaults and transformations. */
export type Side = 'input' | 'output';

const SCHEMAS = '#/components/schemas/';

/** Collects the schemas of the document. A schema with an id (`.meta({ id })`) appears once, under components. */
export interface Components {
  /**
   * @param name used for a recursive schema that has no id
   */
  describe(schema: z.ZodType, side: Side, name: string): JsonObject;
  /** By name, in alphabetical order. */
  schemas(): Record<string, JsonObject>;
}

/** Removes details that zod adds and readers do not need. */
function tidy(json: JsonObject, side: Side): void {
  for (const [keyword, value] of Object.entries(json)) if (value === undefined) delete json[keyword];
  // zod adds its own, long pattern to most formats. Those of URLs are ours: they name the allowed schemes.
  if (json.format !== undefined && json.format !== 'uri') delete json.pattern;
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
  // Fields may be added within v1, so clients must accept unknown ones.
  if (side === 'output' && json.additionalProperties === false) delete json.additionalProperties;
}

function convert(schema: z.ZodType, side: Side): JsonObject {
  const json = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: side,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => tidy(jsonSchema, side),
  });
  delete json.$schema;
  return structuredClone(json);
}

/** Rewrites every `$ref` below `node`. A property may also be named `$ref`, but its value is never a string. */
function redirect(node: unknown, target: (ref: string) => string): unknown {
  if (Array.isArray(node)) return node.map((each) => redirect(each, target));
  if (typeof node !== 'object' || node === null) return node;
  const changed = Object.entries(node).map(([key, value]): [string, unknown] => [
    key,
    key === '$ref' && typeof value === 'string' ? target(value) : redirect(value, target),
  ]);
  return Object.fromEntries(changed);
}

function refersToRoot(json: JsonObject): boolean {
  return JSON.stringify(json).includes('"$ref":"#"');
}

export function createComponents(): Components {
  const kept = new Map<string, JsonObject>();

  /** @returns `name`, or a longer one if another schema has taken it */
  function claim(name: string, json: JsonObject): string {
    const taken = kept.get(name);
    if (taken === undefined || JSON.stringify(taken) === JSON.stringify(json)) return name;
    return claim(`${name}Input`, json);
  }

  return {
    describe(schema, side, name) {
      const { $defs = {}, ...rest } = convert(schema, side);
      const defs = { ...($defs as Record<string, JsonObject>) };
      let root: JsonObject = rest;
      if (refersToRoot(rest)) {
        defs[name] = rest;
        root = { $ref: '#' };
      }
      const names = new Map<string, string>();
      const target = (ref: string) => {
        const own = ref === '#' ? name : ref.replace('#/$defs/', '');
        return SCHEMAS + (names.get(own) ?? own);
      };
      for (const own of Object.keys(defs)) names.set(own, own.replace(/^__schema/, `${name}Part`));
      for (const [own, json] of Object.entries(defs)) {
        const wanted = names.get(own) as string;
        names.set(own, claim(wanted, redirect(json, target) as JsonObject));
      }
      for (const [own, json] of Object.entries(defs)) {
        kept.set(names.get(own) as string, redirect(json, target) as JsonObject);
      }
      return redirect(root, target) as JsonObject;
    },
    schemas: () => Object.fromEntries([...kept].sort(([one], [other]) => (one < other ? -1 : 1))),
  };
}
