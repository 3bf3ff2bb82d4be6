import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';

type Json = Record<string, unknown>;

/** An error response has one example per code. */
interface JsonContent {
  schema?: Json;
  examples?: Json;
}

/** The parts of an OpenAPI document that tests read. */
export interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: Record<string, Record<string, Json>>;
  [part: string]: unknown;
}

export interface Operation {
  operationId: string;
  parameters: Json[];
  requestBody?: { content: Record<string, { schema: Json }> };
  responses: Record<string, Json>;
}

/** Follows `$ref`s inside the document. */
export function resolved(document: OpenApi, node: Json): Json {
  if (typeof node.$ref !== 'string') return node;
  const found = node.$ref
    .slice(2)
    .split('/')
    .reduce<unknown>((at, key) => (at as Json)[key], document);
  return resolved(document, found as Json);
}

/** Dotted paths of the fields of `value` that the schema does not describe, at any depth. */
function undocumented(document: OpenApi, schema: Json, value: unknown, path: string): string[] {
  const { properties, items, additionalProperties, allOf, anyOf, oneOf } = resolved(document, schema);
  const alternatives = [allOf, anyOf, oneOf]
    .flatMap((each) => (each ?? []) as Json[])
    .map((each) => resolved(document, each));
  if (Array.isArray(value)) {
    // A list that may be null has its items in an alternative.
    const described = (items ?? alternatives.find((each) => each.items !== undefined)?.items ?? {}) as Json;
    return value.flatMap((each, index) => undocumented(document, described, each, `${path}.${index}`));
  }
  if (typeof value !== 'object' || value === null) return [];
  const known = { ...(properties as Json | undefined) };
  for (const each of alternatives) Object.assign(known, each.properties);
  return Object.entries(value).flatMap(([name, inner]) => {
    const described = known[name] ?? additionalProperties;
    if (described === undefined) return [`${path}.${name}`];
    if (described === true) return [];
    return undocumented(document, described as Json, inner, `${path}.${name}`);
  });
}

/** Compiles schemas of the document, which may refer to its components. */
export function createCompiler(document: OpenApi) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'urn:carillon:api', ...document });
  return (schema: Json) =>
    ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"urn:carillon:api#/')) as Json);
}

/** Checks that responses conform to the document and have no undescribed field. */
export function createAnswerCheck(document: OpenApi) {
  const compile = createCompiler(document);
  /** @returns the problems of a response; empty if there are none */
  return function problemsOf(path: string, method: string, status: number, body: unknown): string[] {
    const operation = document.paths[path]?.[method];
    const response = operation?.responses[status];
    if (!response) return [`${method} ${path}: ${status} is not described`];
    const { content } = resolved(document, response) as { content: Record<string, JsonContent> };
    const { schema, examples } = content['application/json'] ?? {};
    if (!schema) return [`${method} ${path}: ${status} has no JSON`];
    const validate = compile(schema);
    const faults = validate(body) ? [] : (validate.errors ?? []);
    const invalid = faults.map(({ instancePath, message }) => `data${instancePath} ${message}`);
    const { code } = body as { code?: string };
    const isOther = status >= 400 && !Object.hasOwn(examples ?? {}, code ?? '');
    return [
      ...invalid,
      ...(isOther ? [`${code} is not described for ${status}`] : []),
      ...undocumented(document, schema, body, '').map((field) => `${field} is not described`),
    ];
  };
}
