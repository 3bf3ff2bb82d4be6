import { z } from 'zod';

export type JsonObject = Record<string, unknown>;

/** `input` is what a client sends, `output` what it receives. Defaults and transformations make them differ. */
export type Side = 'input' | 'output';

const DEFS = '#/$defs/';
const SCHEMAS = '#/components/schemas/';

/**
 * Collects the schemas of the document. A schema with an id (`.meta({ id })`) appears once, under components. If what
 * clients send differs from what they receive, the former is named `<id>Input`.
 */
export interface Components {
  /**
   * Every output must be described before the first input, so that names do not depend on the order of routes.
   * @throws Error if a recursive schema has no id, or if two schemas have the same one
   */
  describe(schema: z.ZodType, side: Side): JsonObject;
  /**
   * Adds fields that a request may have although it cannot set them, to a described input and to the components that it
   * consists of.
   * @throws Error if one of these components is an output, too
   */
  addIgnored(described: JsonObject, names: readonly string[]): JsonObject;
  /** By name, in alphabetical order. */
  schemas(): Record<string, JsonObject>;
}

/** Maps each option's value in the discriminating field of a union to the option's definition. */
function mappingOf({ discriminator, options }: z.core.$ZodDiscriminatedUnionDef): JsonObject | null {
  const mapping: JsonObject = {};
  for (const option of options) {
    const id = z.globalRegistry.get(option)?.id;
    const values = option._zod.propValues?.[discriminator];
    if (id === undefined || !values) return null;
    for (const value of values) mapping[String(value)] = DEFS + id;
  }
  return { propertyName: discriminator, mapping };
}

/**
 * Describes whether an object may have other fields. OpenAPI Generator ignores the properties of an object whose
 * `additionalProperties` are `false` or `{}`, so use equivalent keywords.
 */
function tidyUnknownFields(json: JsonObject, side: Side): void {
  const { additionalProperties: others, propertyNames: names } = json;
  if (others === false) {
    delete json.additionalProperties;
    // Fields may be added within v1, so clients must accept unknown ones.
    if (side === 'input') json.unevaluatedProperties = false;
  } else if (typeof others === 'object' && others !== null && Object.keys(others).length === 0) {
    json.additionalProperties = true;
  }
  // Every property name is a string anyway.
  if (JSON.stringify(names) === '{"type":"string"}') delete json.propertyNames;
}

/** Removes details that zod adds and readers do not need, and adds what generators of clients need. */
function tidy(schema: z.core.$ZodType, json: JsonObject, side: Side): void {
  for (const [keyword, value] of Object.entries(json)) if (value === undefined) delete json[keyword];
  // zod adds a long pattern of its own to most formats. The patterns of URLs are ours: they list the allowed schemes.
  if (json.format !== undefined && json.format !== 'uri') delete json.pattern;
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
  tidyUnknownFields(json, side);
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type !== 'union' || !('discriminator' in def)) return;
  const discriminator = mappingOf(def as z.core.$ZodDiscriminatedUnionDef);
  if (discriminator) json.discriminator = discriminator;
}

/** The schemas directly below a schema. */
function innerSchemas({ properties, items, additionalProperties, ...groups }: JsonObject): JsonObject[] {
  const grouped = [groups.anyOf, groups.oneOf, groups.allOf].flatMap(
    (group) => (group ?? []) as JsonObject[],
  );
  const single = [items, additionalProperties].filter((each) => typeof each === 'object');
  return [...Object.values((properties ?? {}) as JsonObject), ...single, ...grouped] as JsonObject[];
}

const SCALARS = ['string', 'integer', 'number', 'boolean'];

/** Flattens nullable schemas: for a schema inside a schema, client generators would need a name. */
function foldNulls(json: JsonObject): void {
  for (const each of innerSchemas(json)) foldNulls(each);
  const [inner, other, ...more] = (json.anyOf ?? []) as JsonObject[];
  if (!inner || other?.type !== 'null' || more.length > 0) return;
  if (Array.isArray(inner.anyOf)) {
    json.anyOf = [...(inner.anyOf as JsonObject[]), other];
  } else if (SCALARS.includes(String(inner.type)) && !('const' in inner)) {
    delete json.anyOf;
    const values = Array.isArray(inner.enum) ? { enum: [...(inner.enum as unknown[]), null] } : {};
    Object.assign(json, { ...inner, ...json, ...values, type: [inner.type, 'null'] });
  }
}

function convert(schema: z.ZodType, side: Side): { root: JsonObject; defs: Record<string, JsonObject> } {
  const { $defs, ...root } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: side,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => tidy(zodSchema, jsonSchema, side),
  });
  delete root.$schema;
  const converted: { root: JsonObject; defs: Record<string, JsonObject> } = structuredClone({
    root,
    defs: $defs ?? {},
  });
  const { defs } = converted;
  for (const each of [converted.root, ...Object.values(defs)]) foldNulls(each);
  const text = JSON.stringify(converted);
  if (text.includes('"$ref":"#"') || Object.keys(defs).some((name) => name.startsWith('__'))) {
    throw new Error(`a recursive schema needs an id: ${text.slice(0, 200)}`);
  }
  return converted;
}

/** Whether the value of a property named `discriminator` is that of OpenAPI: a property's schema has no such text. */
function isDiscriminator(
  key: string,
  value: unknown,
): value is { propertyName: string; mapping: JsonObject } {
  return key === 'discriminator' && typeof (value as JsonObject | null)?.propertyName === 'string';
}

/** Rewrites every reference below `node`. A property may also be named `$ref`, but its value is never a string. */
function redirect(node: unknown, target: (ref: string) => string): unknown {
  if (Array.isArray(node)) return node.map((each) => redirect(each, target));
  if (typeof node !== 'object' || node === null) return node;
  const changed = Object.entries(node).map(([key, value]): [string, unknown] => {
    if (key === '$ref' && typeof value === 'string') return [key, target(value)];
    if (!isDiscriminator(key, value)) return [key, redirect(value, target)];
    const mapping = Object.entries(value.mapping).map(([name, ref]) => [name, target(String(ref))]);
    return [key, { ...value, mapping: Object.fromEntries(mapping) as JsonObject }];
  });
  return Object.fromEntries(changed);
}

/**
 * Describes defaults in words. Some generators treat a field of a component that has the keyword `default` as always
 * present, so that clients would have to send it.
 */
function wordDefaults(schema: JsonObject): void {
  const { default: value, description } = schema;
  if (value !== undefined) {
    const words = `The default is \`${JSON.stringify(value)}\`.`;
    schema.description = typeof description === 'string' ? `${description} ${words}` : words;
    delete schema.default;
  }
  for (const inner of innerSchemas(schema)) wordDefaults(inner);
}

/**
 * Describes fields that a request may have, but that it cannot set. They are not `readOnly`, which would forbid them in
 * requests. Any value is allowed, since none is read.
 */
const ignoredFields = (names: readonly string[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, { description: 'Read-only, so ignored here.' }]));

/** The names of the definitions that `json` refers to. */
function namesIn(json: JsonObject): string[] {
  const names: string[] = [];
  redirect(json, (ref) => {
    names.push(ref.slice(DEFS.length));
    return ref;
  });
  return names;
}

export function createComponents(): Components {
  const kept = new Map<string, JsonObject>();
  /** The definitions of each side, as zod writes them, by id. */
  const seen: Record<Side, Map<string, string>> = { input: new Map(), output: new Map() };

  function remember(side: Side, defs: Record<string, JsonObject>): void {
    for (const [id, json] of Object.entries(defs)) {
      const text = JSON.stringify(json);
      if ((seen[side].get(id) ?? text) !== text) throw new Error(`two schemas have the id ${id}`);
      if (side === 'output' && seen.input.has(id)) throw new Error(`${id} was described as an input before`);
      seen[side].set(id, text);
    }
  }

  /** Ids of the definitions whose input differs from the output, in itself or in what it refers to. */
  function differing(defs: Record<string, JsonObject>): Set<string> {
    const shared = Object.keys(defs).filter((id) => seen.output.has(id));
    const found = new Set(shared.filter((id) => seen.output.get(id) !== JSON.stringify(defs[id])));
    for (let size = -1; size !== found.size;) {
      size = found.size;
      for (const id of shared) {
        if (namesIn(defs[id] as JsonObject).some((other) => found.has(other))) found.add(id);
      }
    }
    return found;
  }

  function addIgnored(described: JsonObject, fields: readonly string[]): JsonObject {
    if (fields.length === 0) return described;
    if (typeof described.$ref === 'string') {
      const id = described.$ref.slice(SCHEMAS.length);
      if (seen.output.has(id))
        throw new Error(`${id} is an output: its read-only fields are in the schema already`);
      kept.set(id, addIgnored(kept.get(id) ?? {}, fields));
      return described;
    }
    const copy = { ...described };
    for (const group of ['anyOf', 'oneOf'] as const) {
      const options = copy[group] as JsonObject[] | undefined;
      if (options) copy[group] = options.map((option) => addIgnored(option, fields));
    }
    if (copy.properties !== undefined)
      copy.properties = { ...ignoredFields(fields), ...(copy.properties as JsonObject) };
    return copy;
  }

  return {
    describe(schema, side) {
      const { root, defs } = convert(schema, side);
      remember(side, defs);
      const inputs = side === 'input' ? differing(defs) : new Set<string>();
      const nameOf = (id: string) => (inputs.has(id) ? `${id}Input` : id);
      const target = (ref: string) => SCHEMAS + nameOf(ref.slice(DEFS.length));
      for (const [id, json] of Object.entries(defs)) {
        if (kept.has(nameOf(id))) continue;
        const described = redirect(json, target) as JsonObject;
        if (side === 'input') wordDefaults(described);
        kept.set(nameOf(id), described);
      }
      return redirect(root, target) as JsonObject;
    },
    addIgnored,
    schemas: () => Object.fromEntries([...kept].sort(([one], [other]) => (one < other ? -1 : 1))),
  };
}
