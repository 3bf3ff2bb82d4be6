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
