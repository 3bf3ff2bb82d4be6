import type { z } from 'zod';

/** The error codes of the API, with their HTTP status. */
export const errorStatus = {
  malformed_json: 400,
  unauthorized: 401,
  otp_required: 401,
  forbidden: 403,
  confirmation_required: 403,
  test_key: 403,
  not_found: 404,
  method_not_allowed: 405,
  idempotency_conflict: 409,
  conflict: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
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

/** Maps the path of a field (`user.email`, `links.0.url`) to everything that is wrong with it. */
export type ValidationErrors = Record<string, string[]>;

/**
 * The one error type that features throw to each other and to clients. Match on `code`, never on the message.
 * `message` and `validationErrors` are public; `cause` is private and only logged.
 */
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

/** The process has no capacity for the request at the moment. This is not logged as an error. */
export class Overload extends AppError {
  constructor(message: string, retryAfterSeconds: number) {
    super('unavailable', message, { headers: { 'Retry-After': String(retryAfterSeconds) } });
  }
}

/** A time to wait, in words. */
function waitInWords(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3_600)} h`;
}

/**
 * Creates a 429.
 * @param limit what is limited, and to how much
 * @param retryAfterSeconds how long the client has to wait; rounded up
 */
export function tooMany(
  limit: string,
  retryAfterSeconds: number,
  headers: Record<string, string> = {},
): AppError {
  const seconds = Math.max(1, Math.ceil(retryAfterSeconds));
  return new AppError('rate_limited', `${limit}; try again in ${waitInWords(seconds)}`, {
    headers: { ...headers, 'Retry-After': String(seconds) },
  });
}

/** The fields that a validation error names; null if the error is of another kind. */
export const validationErrorsOf = (error: unknown): ValidationErrors | null =>
  error instanceof AppError && error.code === 'validation_error' ? error.validationErrors : null;

/** Creates a 404 that does not reveal whether another tenant has the resource. */
export function notFound(resource: string): AppError {
  return new AppError('not_found', `${resource} not found`);
}

/**
 * Creates a 422 that names fields.
 * @param code a more specific code than `validation_error`, if the interface has one
 */
export function invalid(errors: ValidationErrors, code: ErrorCode = 'validation_error'): AppError {
  const first = Object.entries(errors)[0];
  const message = first ? `${first[0]} ${first[1][0] ?? 'is invalid'}` : 'validation failed';
  return new AppError(code, message, { validationErrors: errors });
}

/**
 * Collects everything that is wrong. Its code is more specific than `validation_error` only if all errors are of that
 * kind.
 */
export class Problems {
  readonly errors: ValidationErrors = {};
  #code: ErrorCode | null = null;

  add(errors: ValidationErrors, code: ErrorCode = 'validation_error'): void {
    for (const [field, messages] of Object.entries(errors)) {
      this.errors[field] = [...(this.errors[field] ?? []), ...messages];
      if (this.#code === null || code === 'validation_error') this.#code = code;
    }
  }

  /** @throws AppError with all errors */
  throwIfAny(): void {
    if (this.#code !== null) throw invalid(this.errors, this.#code);
  }
}

/** What a check finds, before something is saved or sent. */
export interface CheckProblem {
  /** The path of the field. */
  field: string;
  code: string;
  message: string;
  /** `error`: a send or an activation would be refused because of it. */
  severity: 'error' | 'warning';
}

/** The errors of fields as a check lists them, one for each message. */
export const checkProblems = (errors: ValidationErrors): CheckProblem[] =>
  Object.entries(errors).flatMap(([field, messages]) =>
    messages.map((message) => ({ field, code: 'validation_error', message, severity: 'error' as const })),
  );

/** The name of each type in the sentence `<field> must be <name>`. */
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
  datetime: 'must be an ISO 8601 date-time with seconds and a zone, such as 2026-03-01T10:00:00Z',
  date: 'must be an ISO 8601 date, such as 2026-03-01',
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

/** @param issue of a union whose options may differ in the value of one field, which the path then names */
function wrongForm(issue: z.core.$ZodRawIssue & { code: 'invalid_union' }): string {
  const { options, discriminator } = issue as { options?: unknown; discriminator?: unknown };
  if (typeof discriminator !== 'string' || !Array.isArray(options))
    return 'matches none of the accepted forms';
  const isGiven = (issue.input as Record<string, unknown> | null)?.[discriminator] !== undefined;
  const listed = options.map(String).join(', ');
  return isGiven ? `must be one of ${listed}` : `is required: one of ${listed}`;
}

/**
 * Words a validation issue so that the text follows the field's name. Every parse passes it to zod as the default for
 * schemas without a message of their own.
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
      return issue.input === undefined ? 'is required' : wrongForm(issue);
    case 'invalid_key':
      return 'has a name that is not allowed';
    default:
      return 'is invalid';
  }
}

/** A body may have a hundred thousand wrong fields. Reporting them all would take seconds and help no one. */
export const MAX_REPORTED = 100;

/** Whether enough problems are reported. */
export function isFull(errors: ValidationErrors): boolean {
  return Object.keys(errors).length >= MAX_REPORTED;
}

/** The only error shape (interface section 7). */
export interface ErrorBody {
  error: true;
  code: ErrorCode;
  message: string;
  validation_errors: ValidationErrors;
}

export function errorBody(error: AppError): ErrorBody {
  return {
    error: true,
    code: error.code,
    message: error.message,
    validation_errors: error.validationErrors,
  };
}
