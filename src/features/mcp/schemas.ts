/** JSON schemas for assistants, from those of the API description. Clients lose all tools over a `$ref` in one. */
import type { JsonObject } from '../../platform/openapi/components.ts';

/** A property with a longer schema is shown as a plain object or array; `find_operation` has its schema. */
const MAX_PROPERTY_LENGTH = 700;
const REFERENCE = '#/components/schemas/';
const SEE = 'find_operation has its form.';

export interface ObjectSchema {
  type: 'object';
  properties: Record<string, JsonObject>;
  required: string[];
}

/** The schemas that `$ref` names. */
export type SchemasByName = Readonly<Record<string, JsonObject>>;

const nameOf = (ref: unknown): string => String(ref).slice(REFERENCE.length);

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function resolved(schema: JsonObject, schemas: SchemasByName): JsonObject {
  const { $ref, ...rest } = schema;
  return $ref === undefined ? schema : { ...resolved(schemas[nameOf($ref)] ?? {}, schemas), ...rest };
}

/** Keywords that say nothing to assistants, or that clients do not know. */
const DROPPED = new Set(['discriminator', 'examples', 'unevaluatedProperties', 'if', 'then', 'else', 'not']);

/** Keywords whose value maps names to schemas. */
const MAPS = new Set(['properties', 'patternProperties']);

/**
 * Replaces references by what they name.
 * @param within the names around this schema; a recursive one becomes a plain object
 */
function inlined(schema: JsonObject, schemas: SchemasByName, within: readonly string[] = []): JsonObject {
  const { $ref, ...rest } = schema;
  if ($ref !== undefined) {
    const name = nameOf($ref);
    if (within.includes(name)) return { type: 'object', description: `A ${name}, as around it.` };
    return inlined({ ...schemas[name], ...rest }, schemas, [...within, name]);
  }
  const inner = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inner);
    return isObject(value) ? inlined(value, schemas, within) : value;
  };
  const entries = Object.entries(schema).filter(([keyword]) => !DROPPED.has(keyword));
  return Object.fromEntries(
    entries.map(([keyword, value]): [string, unknown] => {
      if (keyword === 'oneOf') return ['anyOf', inner(value)];
      if (!MAPS.has(keyword) || !isObject(value)) return [keyword, keyword === 'enum' ? value : inner(value)];
      return [keyword, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, inner(each)]))];
    }),
  );
}

/**
 * The property in two variants of an object: what both say of it. Different constants, as of `channel`, become one
 * enumeration.
 */
function mergedProperty(one: JsonObject, other: JsonObject): JsonObject {
  const values = [one, other].map((each) =>
    'const' in each ? [each.const] : (each.enum as unknown[] | undefined),
  );
  if (!values[0] || !values[1]) {
    const isShared = ([keyword, value]: [string, unknown]) =>
      JSON.stringify(other[keyword]) === JSON.stringify(value);
    return Object.fromEntries(Object.entries(one).filter(isShared));
  }
  const { const: _value, ...rest } = one;
  return { ...rest, enum: [...new Set(values.flat())] };
}

/** An object schema as one object at the top, without its variants: a field is required if all of them require it. */
export function flattened(schema: JsonObject, schemas: SchemasByName): ObjectSchema {
  const top = resolved(schema, schemas);
  const flat: ObjectSchema = {
    type: 'object',
    properties: { ...(top.properties as ObjectSchema['properties'] | undefined) },
    required: [...((top.required as string[] | undefined) ?? [])],
  };
  for (const group of ['oneOf', 'anyOf', 'allOf'] as const) {
    const variants = ((top[group] ?? []) as JsonObject[]).map((each) => flattened(each, schemas));
    for (const { properties } of variants) {
      for (const [name, each] of Object.entries(properties)) {
        const known = flat.properties[name];
        flat.properties[name] = known ? mergedProperty(known, each) : each;
      }
    }
    const everywhere = (name: string) =>
      group === 'allOf' || variants.every(({ required }) => required.includes(name));
    flat.required.push(...new Set(variants.flatMap(({ required }) => required).filter(everywhere)));
  }
  return flat;
}

/** The type of a property as an object, an array or a union, for one whose schema is too long. */
function abbreviated(schema: JsonObject): JsonObject {
  const { type, description } = schema;
  const text = typeof description === 'string' ? `${firstSentence(description)} ${SEE}` : SEE;
  if (type === 'array') return { type, items: {}, description: text };
  return type === 'object' ? { type, additionalProperties: true, description: text } : { description: text };
}

const firstSentence = (text: string): string => /^.*?[.:](?=\s|$)/s.exec(text)?.[0] ?? text;

/** A property for `tools/list`. Its patterns are for programs. */
export function shortProperty(schema: JsonObject, schemas: SchemasByName): JsonObject {
  const { pattern: _pattern, propertyNames: _names, ...whole } = inlined(schema, schemas);
  return JSON.stringify(whole).length > MAX_PROPERTY_LENGTH ? abbreviated(whole) : whole;
}

/** Whether clients can check a resource by this schema: only texts, numbers and the like. */
export function isFlat({ properties }: ObjectSchema): boolean {
  return Object.values(properties).every(({ type }) =>
    [type].flat().every((each) => typeof each === 'string' && each !== 'object' && each !== 'array'),
  );
}

/** The schemas that `schema` names, and those that they name. */
function namedBy(schema: unknown, schemas: SchemasByName, found = new Set<string>()): Set<string> {
  if (Array.isArray(schema)) for (const each of schema) namedBy(each, schemas, found);
  if (!isObject(schema)) return found;
  const { $ref } = schema;
  if (typeof $ref === 'string' && !found.has(nameOf($ref))) {
    found.add(nameOf($ref));
    namedBy(schemas[nameOf($ref)], schemas, found);
  }
  for (const each of Object.values(schema)) namedBy(each, schemas, found);
  return found;
}

function withDefinitions(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withDefinitions);
  if (!isObject(node)) return node;
  const kept = Object.entries(node).filter(([keyword]) => keyword !== 'discriminator');
  return Object.fromEntries(
    kept.map(([keyword, value]) => [
      keyword,
      keyword === '$ref' && typeof value === 'string' ? `#/$defs/${nameOf(value)}` : withDefinitions(value),
    ]),
  );
}

/** The whole schema, with the ones that it names in `$defs`. */
export function wholeSchema(schema: ObjectSchema, schemas: SchemasByName): JsonObject {
  const names = [...namedBy(schema, schemas)];
  const defs = Object.fromEntries(names.map((name) => [name, schemas[name]]));
  return withDefinitions(names.length === 0 ? schema : { ...schema, $defs: defs }) as JsonObject;
}
