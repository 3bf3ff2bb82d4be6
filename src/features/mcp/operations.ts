/** The routes as assistants call them: one flat object of arguments for path, query, headers and body. */
import type { Tool } from '@modelcontextprotocol/server';
import type { RouteDefinition } from '../../platform/http/route.ts';
import type { JsonObject } from '../../platform/openapi/components.ts';
import { buildOpenApiDocument } from '../../platform/openapi/document.ts';
import { templatedPath } from '../../platform/openapi/operation.ts';
import { accessOf, type Access } from './access.ts';
import {
  flattened,
  isFlat,
  type ObjectSchema,
  type SchemasByName,
  shortProperty,
  wholeSchema,
} from './schemas.ts';

/** A route as assistants call it, by a tool of its own or by `read_operation` and `change_operation`. */
export interface Operation {
  /** The operation id in snake case: `send_message`. */
  name: string;
  route: RouteDefinition;
  access: Access;
  /** How `tools/list` shows it. */
  tool: Tool;
  /** The whole schema of its arguments, for `find_operation`. */
  argumentSchema: JsonObject;
  description: string;
}

/** Arguments that are not those of a route. */
export const controls = {
  brand_id: {
    type: 'integer',
    description: 'The brand to act on; by default the selected one. See whoami.',
  },
  idempotency_key: {
    type: 'string',
    minLength: 1,
    maxLength: 128,
    description: 'A new value for each send. Repeat it to repeat a call safely: nothing is done twice.',
  },
  confirmation: {
    type: 'string',
    description: 'From a result `confirmation_required`, once the user agreed.',
  },
  if_revision: { type: 'integer', description: 'Refuse if the resource no longer has this `revision`.' },
  page: { type: 'string', description: 'The `next_page` of the page before.' },
} as const satisfies Record<string, JsonObject>;

const MAX_DESCRIPTION = 260;

/** `send_message` for `sendMessage`. */
export const toolName = (operationId: string): string =>
  operationId.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** As many whole sentences as fit. */
function shortened(text: string): string {
  let kept = '';
  for (const sentence of text.match(/[^.]+(\.(?=\s|$)|\.\S+|$)+\s*/g) ?? []) {
    if (kept !== '' && kept.length + sentence.length > MAX_DESCRIPTION) break;
    kept += sentence;
  }
  return kept.trim();
}

/** An operation of the API description. */
interface Described {
  parameters: JsonObject[];
  requestBody?: { content: Record<string, { schema: JsonObject }>; required: boolean };
  responses: Record<string, { content?: Record<string, { schema?: JsonObject }> }>;
}

/** Whether the results are pages. */
const isPaged = ({ paginated, query }: RouteDefinition): boolean =>
  paginated === true && query !== null && 'page' in query.shape;

function parametersOf(route: RouteDefinition, { parameters }: Described): ObjectSchema {
  const found: ObjectSchema = { type: 'object', properties: {}, required: [] };
  for (const { name, schema, description, required } of parameters) {
    // References name headers, which assistants give as controls.
    if (typeof name !== 'string') continue;
    const isPage = isPaged(route) && (name === 'page' || name === 'after');
    if (isPage || name === 'brand_id') continue;
    found.properties[name] = {
      ...(schema as JsonObject),
      ...(description === undefined ? {} : { description }),
    };
    if (required === true) found.required.push(name);
  }
  return found;
}

function bodyOf(
  { requestBody }: Described,
  route: RouteDefinition,
  access: Access,
  schemas: SchemasByName,
): ObjectSchema {
  const [media] = Object.values(requestBody?.content ?? {});
  const body = flattened(media?.schema ?? {}, schemas);
  if (!requestBody?.required) body.required = [];
  const { multipart } = route;
  if (!multipart || access.fileAsText === null) return body;
  const { [multipart.file]: _file, ...others } = body.properties;
  const fields = Object.entries(others).map(([name, { type: _type, ...field }]) => [name, field]);
  const text = {
    type: 'string',
    description: 'The text of the file, with a first row that names the columns.',
  };
  return {
    type: 'object',
    properties: { [access.fileAsText]: text, ...(Object.fromEntries(fields) as ObjectSchema['properties']) },
    required: [access.fileAsText],
  };
}

/** The controls that a route takes. */
function controlsOf(route: RouteDefinition, access: Access): (keyof typeof controls)[] {
  return [
    ...(isPaged(route) ? (['page'] as const) : []),
    ...(route.etag === 'checked' ? (['if_revision'] as const) : []),
    ...(route.idempotency === 'none' ? [] : (['idempotency_key'] as const)),
    ...(access.mayAsk ? (['confirmation'] as const) : []),
    'brand_id' as const,
  ];
}

/** All arguments of a route. */
function argumentsOf(
  route: RouteDefinition,
  access: Access,
  described: Described,
  schemas: SchemasByName,
): ObjectSchema {
  const { parameters, body } = {
    parameters: parametersOf(route, described),
    body: bodyOf(described, route, access, schemas),
  };
  const names = controlsOf(route, access);
  const properties = { ...parameters.properties, ...body.properties };
  for (const name of [...access.without, ...names]) delete properties[name];
  const own = Object.fromEntries(names.map((name) => [name, controls[name]]));
  const isAlwaysSent = access.sends({}) === true && route.idempotency !== 'none';
  const required = [...parameters.required, ...body.required].filter((name) => name in properties);
  return {
    type: 'object',
    properties: { ...properties, ...own },
    required: isAlwaysSent ? [...required, 'idempotency_key'] : required,
  };
}

const brandSchema = {
  type: ['object', 'null'],
  properties: { id: { type: 'integer' }, name: { type: 'string' } },
};
const listSchema = {
  type: 'object',
  properties: {
    items: { type: 'array', items: { type: 'object' } },
    next_page: { type: ['string', 'null'] },
    total: { type: 'integer' },
    brand: brandSchema,
  },
} as const;

/** The schema of results; none for resources with parts. */
function outputSchemaOf({ responses }: Described, schemas: SchemasByName): Tool['outputSchema'] {
  const [status = ''] = Object.keys(responses).filter((each) => each.startsWith('2'));
  const [media] = Object.values(responses[status]?.content ?? {});
  const schema = media?.schema ?? {};
  if (schema.type === 'array') return listSchema;
  const result = flattened(schema, schemas);
  if (!isFlat(result) || Object.keys(result.properties).length === 0) return undefined;
  const properties = Object.entries(result.properties).map(([name, { type }]) => [name, { type }]);
  const flat = { type: 'object', properties: Object.fromEntries(properties) as JsonObject };
  return { type: 'object', properties: { result: flat, brand: brandSchema } };
}

function annotationsOf({ method, summary }: RouteDefinition, access: Access): Tool['annotations'] {
  return {
    title: summary,
    readOnlyHint: access.readOnly,
    destructiveHint: access.destroys,
    idempotentHint: access.readOnly || method === 'PUT' || method === 'DELETE',
    openWorldHint: access.maySend,
  };
}

function operationOf(
  route: RouteDefinition,
  access: Access,
  described: Described,
  schemas: SchemasByName,
): Operation {
  const name = toolName(route.operationId);
  const given = argumentsOf(route, access, described, schemas);
  const short = Object.entries(given.properties).map(([key, each]) => [key, shortProperty(each, schemas)]);
  const outputSchema = outputSchemaOf(described, schemas);
  const description = [`${route.summary}.`, route.description ?? ''].join(' ').trim();
  // The SDK's type of a schema is that of JSON values.
  const inputSchema = { ...given, properties: Object.fromEntries(short) as unknown } as Tool['inputSchema'];
  return {
    name,
    route,
    access,
    description,
    tool: {
      name,
      title: route.summary,
      description: shortened(description),
      inputSchema,
      ...(outputSchema ? { outputSchema } : {}),
      annotations: annotationsOf(route, access) ?? {},
    },
    argumentSchema: wholeSchema(given, schemas),
  };
}

/** The operations that assistants may call, by name. */
export function createOperations(routes: RouteDefinition[]): Map<string, Operation> {
  const document = buildOpenApiDocument(routes, { publicUrl: null, webhooks: null });
  const { schemas } = document.components as { schemas: SchemasByName };
  const paths = document.paths as Record<string, Record<string, Described>>;
  const operations = new Map<string, Operation>();
  for (const route of routes) {
    const access = accessOf(route);
    const described = paths[templatedPath(route.path)]?.[route.method.toLowerCase()];
    if (!access || !described) continue;
    const operation = operationOf(route, access, described, schemas);
    operations.set(operation.name, operation);
  }
  return operations;
}
