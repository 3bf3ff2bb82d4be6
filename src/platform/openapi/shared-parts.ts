import { errorStatus, type ErrorCode } from '../../errors.ts';
import type { McpScope } from '../auth/grant-caller.ts';
import { ID_DIGITS } from '../db/paging.ts';
import type { JsonObject } from './components.ts';

const integer = { type: 'integer' };
const text = { type: 'string' };

/** Headers that many responses have. Operations refer to them by name. */
export const sharedHeaders = {
  'X-Request-Id': {
    description:
      'Identifies the request in our logs: your own value if you sent an acceptable one, else a UUID.',
    schema: text,
  },
  'RateLimit-Limit': { description: 'Requests that the key may make at once.', schema: integer },
  'RateLimit-Remaining': { description: 'Requests that remain.', schema: integer },
  'RateLimit-Reset': { description: 'Seconds until all requests are available again.', schema: integer },
  'Retry-After': { description: 'Seconds to wait before the next attempt.', schema: integer },
  'Idempotent-Replayed': {
    description:
      '`true` if the Idempotency-Key was used before: nothing was done again, and the body is the current resource.',
    schema: { type: 'string', const: 'true' },
  },
  'X-Total-Count': { description: 'Number of items on all pages.', schema: integer },
  'X-Total-Count-Estimated': {
    description: '`true` if there are too many items to count and the total is an estimate.',
    schema: { type: 'string', const: 'true' },
  },
  'X-Total-Pages': { description: 'Number of pages with this `limit`.', schema: integer },
  'X-Page-Number': { description: 'Number of this page; absent if `after` was given.', schema: integer },
  ETag: {
    description: 'The `revision` of the resource, in quotes. Send it in `If-Match` with a change.',
    schema: text,
  },
  Link: { description: '`first`, `prev`, `next` and `last` (RFC 8288).', schema: text },
} satisfies Record<string, JsonObject>;

export type SharedHeader = keyof typeof sharedHeaders;

/** References to shared headers. */
export function headerRefs(...names: SharedHeader[]): Record<string, JsonObject> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Request headers that many operations take. */
export const sharedParameters = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes it safe to repeat the request. With the same key and payload, the response is that of the first request; ' +
      'with another payload it is a 409 `idempotency_conflict`. Keys are kept for 7 days, per brand and endpoint. ' +
      'Test keys and live keys have separate idempotency keys.',
    schema: { type: 'string', minLength: 1, maxLength: 128, pattern: '^[ -~]+$' },
  },
  AccountId: {
    name: 'X-Account-Id',
    in: 'header',
    description:
      'The account to use, for signed-in users; by default their first account, or that of `X-Brand-Id`. An API key ' +
      'always uses its own account.',
    schema: { type: 'string', pattern: ID_DIGITS.source },
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description:
      'The `ETag` of the resource as you read it: if it has changed since, the response is a 412 `precondition_failed`, ' +
      'and nothing is changed. `*` only requires that it exists.',
    schema: { type: 'string', pattern: '^(\\*|"[!#-~]*")$', examples: ['"7"'] },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description:
      '`*` requires that there is no such resource yet: if there is one, the response is a 412 `precondition_failed`.',
    // Some generators of clients allow no constants in headers.
    schema: { type: 'string', pattern: '^\\*$', examples: ['*'] },
  },
  BrandId: {
    name: 'X-Brand-Id',
    in: 'header',
    description:
      'The brand to use, for signed-in users; by default the first brand of the account. An API key always uses its own brand.',
    // Text, because headers are: as an integer, it would also allow `1.0`, which is refused.
    schema: { type: 'string', pattern: ID_DIGITS.source },
  },
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description:
      'Your own identifier for this request. The response repeats it if it has 1 to 128 of the characters ' +
      '`A-Z a-z 0-9 _ . : + / = @ -`. Any other value is ignored, and the response has a new identifier.',
    schema: text,
  },
} satisfies Record<string, JsonObject>;

export function parameterRef(name: keyof typeof sharedParameters): JsonObject {
  return { $ref: `#/components/parameters/${name}` };
}

export const securitySchemes = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description:
      'An API key of a brand: `crl_live_…`; `crl_test_…`, whose messages are never sent; or `crl_send_…`, which can only ' +
      'send messages and read those that it sent. Each operation says what test keys may do; all else is a 403 ' +
      '`test_key`. It says so, too, if send-only keys may use it; all others answer them with a 403 `forbidden`.',
  },
  session: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'A user’s session token, from the `Authorization` header of the response to `POST /v1/login`.',
  },
  cookie: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-carillon',
    description:
      'For pages of this service in a browser: the cookie of `POST /v1/login` with `session: cookie`. It counts only at ' +
      'the service’s own host, and only without `Authorization`. Requests that change something also need the header ' +
      '`Origin` of this service, which browsers send, and `X-CSRF-Token`. If the service is reached by http on this ' +
      'machine, the name is `carillon_<port>`.',
  },
  csrfToken: {
    type: 'apiKey',
    in: 'header',
    name: 'X-CSRF-Token',
    description:
      'Belongs to the cookie: from the response to `POST /v1/login`, or to `GET /v1/my/session`. Requests that change ' +
      'nothing do not need it.',
  },
  assistant: {
    type: 'oauth2',
    description:
      'For assistants (MCP): an access token for `{base_url}/mcp`, which no other path accepts. Users sign in and choose ' +
      'what they allow.',
    flows: {
      authorizationCode: {
        authorizationUrl: '/oauth/authorize',
        tokenUrl: '/oauth/token',
        refreshUrl: '/oauth/token',
        scopes: {
          'mcp:read': 'Read everything except mail of strangers.',
          'mcp:write': 'Create, change and delete.',
          'mcp:send': 'Send messages, campaigns and flows.',
          'mcp:inbox': 'Read mail that the brand received.',
        } satisfies Record<McpScope, string>,
      },
    },
  },
} satisfies Record<string, JsonObject>;

/** What a request may be authenticated by, in the order of preference. */
export const credentials: readonly [JsonObject, ...JsonObject[]] = [
  { apiKey: [] },
  { session: [] },
  { cookie: [], csrfToken: [] },
];

/** The only error shape (interface section 7). */
export const errorSchema: JsonObject = {
  type: 'object',
  required: ['error', 'code', 'message', 'validation_errors'],
  properties: {
    error: { type: 'boolean', const: true },
    code: {
      type: 'string',
      enum: Object.keys(errorStatus),
      description: 'Match on this; messages may change.',
    },
    message: { type: 'string', description: 'For people to read.' },
    validation_errors: {
      type: 'object',
      additionalProperties: { type: 'array', items: text },
      description:
        'Maps field paths (`user.email`, `links.0.url`) to what is wrong with the field. Empty if no field is at fault.',
    },
  },
};

/** The meaning of each code. */
export const errorMeaning: Record<ErrorCode, string> = {
  malformed_json: 'the body cannot be read',
  unauthorized: 'credentials are missing or not valid',
  otp_required: 'the user has a second factor; send its code, too',
  forbidden: 'the role of the caller does not allow this',
  confirmation_required: 'give the password again, with `POST /v1/my/session/confirm`',
  test_key: 'a test key cannot do this; use a live key',
  not_found: 'there is no such resource in this brand',
  method_not_allowed: 'the path does not support this method',
  idempotency_conflict:
    'the Idempotency-Key was used with another payload; or, for a send-only key, with another key',
  conflict: 'the request conflicts with the current state',
  precondition_failed: 'the resource has changed since it was read: its ETag is not the one of If-Match',
  payload_too_large:
    'the body or the file is too large, or a JSON body has more than 20,000 values or 2,000 fields in one object',
  unsupported_media_type: 'the Content-Type is not supported',
  range_not_satisfiable: 'the file has no byte of the range',
  validation_error: 'fields are invalid; `validation_errors` lists them',
  sender_not_verified: 'the sender is not a verified identity of the brand',
  reserved_header: 'only the service may set this header',
  reserved_tag: 'only the service may set this tag',
  invalid_transition: 'the status of the resource does not allow this',
  insufficient_funds: 'the wallet balance is too low',
  spend_cap_reached: 'the monthly spend cap is reached',
  sandbox_limit_reached: 'the sandbox’s monthly cap is reached; verify a domain',
  brand_required: 'the account has no brand yet',
  unscanned_attachment: 'the attachment was not scanned; acknowledge this to fetch it',
  rate_limited: 'too many requests; see Retry-After',
  internal_error: 'an error on our side',
  unavailable: 'not possible right now; try again',
};
