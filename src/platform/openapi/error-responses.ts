import { errorStatus, type ErrorCode } from '../../errors.ts';
import type { RouteDefinition } from '../http/route.ts';
import type { JsonObject } from './components.ts';
import { errorMeaning, headerRefs, type SharedHeader } from './shared-parts.ts';

const refusesTestKeys = ({ auth, usersOnly, testKeys }: RouteDefinition) =>
  auth !== 'user' && auth !== 'grant' && !usersOnly && testKeys !== undefined && testKeys !== 'allowed';

/** Error codes that the middlewares may return for this route. */
function commonErrors(route: RouteDefinition): ErrorCode[] {
  const codes: ErrorCode[] = ['validation_error', 'rate_limited', 'internal_error', 'unavailable'];
  // A cookie may lack its CSRF token, and the user may belong to no account.
  if (route.auth !== 'none') codes.push('unauthorized', 'forbidden');
  // X-Account-Id and X-Brand-Id may name what the caller may not use, which is not found.
  if (route.auth === 'account' || route.auth === 'brand') codes.push('not_found');
  if (route.auth === 'brand') codes.push('brand_required');
  if (route.confirm) codes.push('confirmation_required');
  if (refusesTestKeys(route)) codes.push('test_key');
  if (route.params) codes.push('not_found');
  if (route.body || route.multipart)
    codes.push('malformed_json', 'payload_too_large', 'unsupported_media_type');
  if (route.idempotency !== 'none') codes.push('idempotency_conflict');
  if (route.etag === 'checked') codes.push('precondition_failed');
  return codes;
}

/** Every error code that this route may return, each once. */
export function errorsOf(route: RouteDefinition): ErrorCode[] {
  return [...new Set([...commonErrors(route), ...(route.errors ?? [])])];
}

/** Collects error responses. Operations with the same set of codes refer to the same response. */
export interface ErrorResponses {
  /**
   * @param codes those of one status @param headers those of the response, except for the ones that its status adds
   */
  refer(codes: ErrorCode[], headers: SharedHeader[]): JsonObject;
  /** By name, in alphabetical order. */
  responses(): Record<string, JsonObject>;
}

function capitalized(code: string): string {
  return code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function exampleOf(code: ErrorCode): JsonObject {
  const field = code === 'validation_error' ? { subject: ['is required for email'] } : {};
  const message = code === 'validation_error' ? 'subject is required for email' : errorMeaning[code];
  return { error: true, code, message, validation_errors: field };
}

function describe(codes: ErrorCode[], headers: SharedHeader[]): JsonObject {
  return {
    description: codes.map((code) => `\`${code}\`: ${errorMeaning[code]}.`).join('\n\n'),
    headers: headerRefs(...headers),
    content: {
      'application/json': {
        // The codes are examples: a schema for each response would become a class for each in clients.
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }])),
      },
    },
  };
}

export function createErrorResponses(): ErrorResponses {
  const kept = new Map<string, JsonObject>();
  return {
    refer(codes, headers) {
      const sorted = [...codes].sort();
      const status = errorStatus[sorted[0] as ErrorCode];
      const all: SharedHeader[] = status === 429 || status === 503 ? [...headers, 'Retry-After'] : headers;
      const limited = headers.includes('RateLimit-Limit') ? '' : 'Open';
      const name = limited + sorted.map(capitalized).join('Or');
      if (!kept.has(name)) kept.set(name, describe(sorted, all));
      return { $ref: `#/components/responses/${name}` };
    },
    responses: () => Object.fromEntries([...kept].sort(([one], [other]) => (one < other ? -1 : 1))),
  };
}
