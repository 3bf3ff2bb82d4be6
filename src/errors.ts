import type { z } from 'zod';

/**
 * The one error type that crosses rooms. Matched on `code`, never on message text.
 * `message` and `validationErrors` are public; `cause` is private and only logged.
 */
export const errorStatus = {
  malformed_json: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  idempotency_conflict: 409,
  conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  validation_error: 422,
  sender_not_verified: 422,
  reserved_header: 422,
  reserved_tag: 422,
  invalid_transition: 422,
  insufficient_funds: 422,
  spend_cap_reached: 422,
  sandbox_limit_reached: 422,
  brand_required: 422,
  unscanned_attachment: 422,
  rate_limited: 429,
  internal_error: 500,
  unavailable: 503,
} as const;

export type ErrorCode = keyof typeof errorStatus;

/** Field path (`user.email`, `links.0.url`) to what is wrong with it; every problem is listed. */
export type ValidationErrors = Record<string, string[]>;

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly validationErrors: ValidationErrors;
  /** Extra response headers, such as `Retry-After` or `Allow`. */
  readonly headers: Record<string, string>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { validationErrors?: ValidationErrors; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.validationErrors = options.validationErrors ?? {};
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return errorStatus[this.code];
  }
}

/** A 404 that does not tell whether the resource exists for another tenant. */
export function notFound(resource: string): AppError {
  return new AppError('not_found', `${resource} not found`);
}

/**
 * A 422 naming fields.
 * @param errors field path to messages
 * @param code a more telling code than `validation_error`, where the interface has one
 */
export function invalid(errors: ValidationErrors, code: ErrorCode = 'validation_error'): AppError {
  const first = Object.entries(errors)[0];
  const message = first ? `${first[0]} ${first[1][0] ?? 'is invalid'}` : 'validation failed';
  return new AppError(code, message, { validationErrors: errors });
}

/** How each expected type is called; the sentence is `<field> must be <name>`. */
const typeNames: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  date: 'a date-time',
  null: 'null',
};

const formats: Record<string, string> = {
  email: 'must be an email address',
  url: 'must be a URL',
  uuid: 'must be a UUID',
  datetime: 'must be an ISO 8601 date-time',
  date: 'must be an ISO 8601 date',
  e164: 'must be a phone number in E.164 format',
  json_string: 'must be JSON text',
  base64: 'must be base64',
};

const units: Record<string, string> = { string: ' characters', array: ' items', set: ' items' };

function size(issue: { origin: string }, bound: string, limit: unknown): string {
  const unit = units[issue.origin];
  return unit ? `must have ${bound} ${String(limit)}${unit}` : `must be ${bound} ${String(limit)}`;
}

function tooSmall(issue: z.core.$ZodRawIssue & { code: 'too_small' }): string {
  if (units[issue.origin] && issue.minimum === 1) return 'must not be empty';
  if (issue.inclusive === false) return `must be more than ${String(issue.minimum)}`;
  return size(issue, 'at least', issue.minimum);
}

function wrongType(issue: z.core.$ZodRawIssue & { code: 'invalid_type' }): string {
  if (issue.input === undefined) return 'is required';
  return `must be ${typeNames[issue.expected] ?? issue.expected}`;
}

/**
 * Say what is wrong in words that follow the field's name, for every schema that has no words of its own.
 * Given to zod with each parse.
 */
export function issueMessage(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return wrongType(issue);
    case 'too_big':
      return size(issue, 'at most', issue.maximum);
    case 'too_small':
      return tooSmall(issue);
    case 'invalid_format':
      if (issue.format === 'regex') return `must match ${String(issue.pattern)}`;
      return formats[String(issue.format)] ?? `must be a valid ${String(issue.format)}`;
    case 'invalid_value':
      if (issue.input === undefined) return 'is required';
      return `must be one of ${(issue.values as unknown[]).map(String).join(', ')}`;
    case 'not_multiple_of':
      return `must be a multiple of ${String(issue.divisor)}`;
    case 'invalid_union':
      return issue.input === undefined ? 'is required' : 'has none of the forms it may have';
    case 'invalid_key':
      return 'has a name that is not allowed';
    default:
      return 'is invalid';
  }
}
