import { errorStatus, type ErrorCode } from '../../errors.ts';
import type { JsonObject } from './components.ts';

const integer = { type: 'integer' };
const text = { type: 'string' };

/** Headers that many answers have; operations refer to them by name. */
export const sharedHeaders = {
  'X-Request-Id': {
    description: 'Names this request in our logs; your own is kept where you sent one.',
    schema: text,
  },
  'RateLimit-Limit': { description: 'Requests the key may make at once.', schema: integer },
  'RateLimit-Remaining': { description: 'Requests left of them.', schema: integer },
  'RateLimit-Reset': { description: 'Seconds until all of them are there again.', schema: integer },
  'Retry-After': { description: 'Seconds to wait before another try.', schema: integer },
  'Idempotent-Replayed': {
    description:
      '`true` where the Idempotency-Key was known: nothing was done again, the body is the resource as it is now.',
    schema: { type: 'string', const: 'true' },
  },
  'X-Total-Count': { description: 'Items in all pages.', schema: integer },
  'X-Total-Count-Estimated': {
    description: '`true` where a filtered list has more than 100,000 items and the total is an estimate.',
    schema: { type: 'string', const: 'true' },
  },
  'X-Total-Pages': { description: 'Pages of this `limit`.', schema: integer },
  'X-Page-Number': { description: 'This page; absent where `after` was given.', schema: integer },
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
      'Makes a repeated request harmless: the same key and payload answer with what the first made, another payload is ' +
      'a 409 `idempotency_conflict`. Kept for 7 days, per brand and endpoint.',
    schema: { type: 'string', minLength: 1, maxLength: 128, pattern: '^[ -~]+$' },
  },
  BrandId: {
    name: 'X-Brand-Id',
    in: 'header',
    description:
      'The brand a logged-in user means; their first one by default. An API key has a brand of its own.',
    schema: { type: 'integer', minimum: 1 },
  },
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description: 'A name of your own for this request, which the answer repeats.',
    schema: { type: 'string', maxLength: 128, pattern: '^[A-Za-z0-9_.:+/=@-]+$' },
  },
} satisfies Record<string, JsonObject>;

export function parameterRef(name: keyof typeof sharedParameters): JsonObject {
  return { $ref: `#/components/parameters/${name}` };
}

export const securitySchemes = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key of a brand: `crl_live_…`, or `crl_test_…`, whose messages never leave.',
  },
  session: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'A user’s session, from the `Authorization` header of the answer to `POST /v1/login`.',
  },
} satisfies Record<string, JsonObject>;

/** The one error shape (interface section 7). */
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
    message: { type: 'string', description: 'For a person to read.' },
    validation_errors: {
      type: 'object',
      additionalProperties: { type: 'array', items: text },
      description:
        'Field path (`user.email`, `links.0.url`) to what is wrong with it; empty where no field is at fault.',
    },
  },
};

/** What each code means, for readers. */
export const errorMeaning: Record<ErrorCode, string> = {
  malformed_json: 'the body cannot be read',
  unauthorized: 'credentials are missing or not valid',
  forbidden: 'the user’s role does not allow it',
  not_found: 'there is no such resource in this brand',
  method_not_allowed: 'the path does not know this method',
  idempotency_conflict: 'the Idempotency-Key was used with another payload',
  conflict: 'it contradicts what exists',
  payload_too_large: 'the body or the file is too large',
  unsupported_media_type: 'the Content-Type is not the one asked for',
  validation_error: 'fields are wrong; `validation_errors` names each',
  sender_not_verified: 'the sender is not a verified identity of the brand',
  reserved_header: 'a header is one that only the service sets',
  reserved_tag: 'a tag is one that only the service sets',
  invalid_transition: 'the resource’s status does not allow it',
  insufficient_funds: 'the wallet does not cover it',
  spend_cap_reached: 'the monthly spend cap is reached',
  sandbox_limit_reached: 'the sandbox’s monthly cap is reached; verify a domain',
  brand_required: 'the account has no brand yet',
  unscanned_attachment: 'the attachment was not scanned; acknowledge it to fetch it',
  rate_limited: 'too many requests; see Retry-After',
  internal_error: 'a fault of ours',
  unavailable: 'not possible just now; try again',
};
