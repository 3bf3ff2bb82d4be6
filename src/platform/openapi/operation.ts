import { errorStatus, type ErrorCode } from '../../errors.ts';
import type { RouteDefinition, RouteResponse } from '../http/route.ts';
import type { Components, JsonObject } from './components.ts';
import { errorsOf, type ErrorResponses } from './error-responses.ts';
import { credentials, headerRefs, parameterRef, type SharedHeader } from './shared-parts.ts';

/** `/v1/my/messages/:id` as OpenAPI writes it. */
export function templatedPath(path: string): string {
  return path.replace(/:([A-Za-z_]\w*)/g, '{$1}');
}

function parametersOf(route: RouteDefinition, components: Components): JsonObject[] {
  const found: JsonObject[] = [];
  for (const place of ['path', 'query'] as const) {
    const schema = place === 'path' ? route.params : route.query;
    if (!schema) continue;
    const { properties = {}, required = [] } = components.describe(schema, 'input');
    for (const [parameter, json] of Object.entries(properties as Record<string, JsonObject>)) {
      const { description, ...rest } = json;
      found.push({
        name: parameter,
        in: place,
        required: place === 'path' || (required as string[]).includes(parameter),
        ...(description === undefined ? {} : { description }),
        schema: rest,
      });
    }
  }
  if (route.idempotency !== 'none') found.push(parameterRef('IdempotencyKey'));
  if (route.etag === 'checked') found.push(parameterRef('IfMatch'));
  if (route.mayCreate) found.push(parameterRef('IfNoneMatch'));
  if (takesTenant(route)) found.push(parameterRef('AccountId'), parameterRef('BrandId'));
  found.push(parameterRef('RequestId'));
  return found;
}

/** Whether the caller may choose an account and a brand. */
const takesTenant = ({ auth }: RouteDefinition) => auth === 'account' || auth === 'brand';

function multipartSchema(route: RouteDefinition, fields: JsonObject): JsonObject {
  const { multipart } = route;
  if (!multipart) return fields;
  const { properties = {}, required = [] } = fields as { properties?: JsonObject; required?: string[] };
  const file = {
    type: 'string',
    // A file that is streamed may be empty: its reader judges it.
    ...(multipart.sink ? {} : { minLength: 1 }),
    contentMediaType: 'application/octet-stream',
    description: `The file, of at most ${multipart.maxFileBytes} bytes.`,
  };
  return {
    type: 'object',
    properties: { [multipart.file]: file, ...properties },
    required: [multipart.file, ...required],
    unevaluatedProperties: false,
  };
}

function requestBodyOf(route: RouteDefinition, components: Components): JsonObject | null {
  if (!route.body && !route.multipart) return null;
  const { body, readOnlyFields = [] } = route;
  const fields = body ? components.addIgnored(components.describe(body, 'input'), readOnlyFields) : {};
  const mediaType = route.multipart ? 'multipart/form-data' : 'application/json';
  return {
    required: !route.bodyOptional,
    content: { [mediaType]: { schema: multipartSchema(route, fields) } },
  };
}

function commonHeaders(route: RouteDefinition): SharedHeader[] {
  const limited: SharedHeader[] = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];
  return ['X-Request-Id', ...(route.auth === 'none' ? [] : limited)];
}

function successHeaders(route: RouteDefinition, response: RouteResponse, components: Components): JsonObject {
  const shared = commonHeaders(route);
  if (route.idempotency !== 'none') shared.push('Idempotent-Replayed');
  if (route.etag !== undefined && route.method !== 'DELETE') shared.push('ETag');
  if (route.paginated) {
    shared.push('X-Total-Count', 'X-Total-Count-Estimated', 'X-Total-Pages', 'X-Page-Number', 'Link');
  }
  const own = Object.entries(response.headers ?? {}).map(([name, header]) => [
    name,
    { description: header.description, schema: components.describe(header.schema, 'output') },
  ]);
  return { ...headerRefs(...shared), ...(Object.fromEntries(own) as JsonObject) };
}

function successOf(route: RouteDefinition, response: RouteResponse, components: Components): JsonObject {
  const schema = response.schema && components.describe(response.schema, 'output');
  const mediaType = response.contentType ?? (schema ? 'application/json' : null);
  const { otherContentType: other } = response;
  const content = {
    ...(mediaType === null ? {} : { [mediaType]: schema ? { schema } : {} }),
    ...(other === undefined ? {} : { [other]: {} }),
  };
  return {
    description: response.description,
    headers: successHeaders(route, response, components),
    ...(Object.keys(content).length === 0 ? {} : { content }),
  };
}

/** The responses of one route. Describe those of all routes before any request. */
export function describeResponses(
  route: RouteDefinition,
  components: Components,
  errors: ErrorResponses,
): JsonObject {
  const responses: JsonObject = {};
  for (const [status, response] of Object.entries(route.responses)) {
    responses[status] = successOf(route, response, components);
  }
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of errorsOf(route)) {
    byStatus.set(errorStatus[code], [...(byStatus.get(errorStatus[code]) ?? []), code]);
  }
  for (const status of [...byStatus.keys()].sort((one, other) => one - other)) {
    responses[status] = errors.refer(byStatus.get(status) as ErrorCode[], commonHeaders(route));
  }
  return responses;
}

/** Describes how to repeat a POST that ignores `Idempotency-Key`. */
function repeatsOf({ method, auth, idempotency }: RouteDefinition): string | null {
  if (method !== 'POST' || auth === 'none' || auth === 'grant' || idempotency !== 'none') return null;
  return 'Safe to repeat. An `Idempotency-Key` is accepted, but has no effect.';
}

/** Describes what a test key may do. */
function testKeysOf({ testKeys }: RouteDefinition): string | null {
  if (testKeys === undefined) return null;
  if (testKeys === 'allowed') return 'Test keys may use this.';
  return testKeys === 'refused' ? 'Not for test keys.' : `With a test key only: ${testKeys.only}.`;
}

/** Describes what a send-only key may do, if anything. */
function sendKeysOf({ sendKeys }: RouteDefinition): string | null {
  if (sendKeys === undefined) return null;
  return sendKeys === 'allowed'
    ? 'Send-only keys may use this.'
    : `With a send-only key only: ${sendKeys.only}.`;
}

function descriptionOf(route: RouteDefinition): string | null {
  const roles = route.roles ? `For the roles ${route.roles.join(', ')}; an API key acts as admin.` : null;
  const users = route.auth === 'user' || route.usersOnly ? 'For signed-in users; an API key gets 403.' : null;
  const confirmed = route.confirm
    ? 'A user must have given the password within the last 15 minutes: see `confirmSession`.'
    : null;
  const parts = [
    route.description ?? null,
    users,
    roles,
    confirmed,
    repeatsOf(route),
    testKeysOf(route),
    sendKeysOf(route),
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join('\n\n');
}

function securityOf({ auth, usersOnly }: RouteDefinition): JsonObject[] {
  if (auth === 'none') return [];
  if (auth === 'grant') return [{ assistant: ['mcp:read'] }];
  const [apiKey, ...ofUsers] = credentials;
  return auth === 'user' || usersOnly ? ofUsers : [apiKey, ...ofUsers];
}

/** One route as an OpenAPI operation. */
export function describeOperation(
  route: RouteDefinition,
  components: Components,
  responses: JsonObject,
): JsonObject {
  const description = descriptionOf(route);
  const requestBody = requestBodyOf(route, components);
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    ...(description === null ? {} : { description }),
    security: securityOf(route),
    parameters: parametersOf(route, components),
    ...(requestBody === null ? {} : { requestBody }),
    responses,
  };
}
