/** A response of the API that is not 2xx. */
export class ApiError extends Error {
  readonly status: number;
  /** A code of the API, such as `validation_error`; `network` if there was no response. */
  readonly code: string;
  /** What is wrong, by the path of the field in the request, such as `user.email`. */
  readonly fields: Readonly<Record<string, readonly string[]>>;
  readonly requestId: string | null;
  /** When the service says that the request may be sent again; null if it does not. */
  readonly retryAfterMs: number | null;

  constructor(facts: {
    status: number;
    code: string;
    message: string;
    fields?: Record<string, string[]> | undefined;
    requestId?: string | null;
    retryAfterMs?: number | null;
  }) {
    super(facts.message);
    this.name = 'ApiError';
    this.status = facts.status;
    this.code = facts.code;
    this.fields = facts.fields ?? {};
    this.requestId = facts.requestId ?? null;
    this.retryAfterMs = facts.retryAfterMs ?? null;
  }
}

interface ErrorBody {
  code: string;
  message: string;
  validation_errors?: Record<string, string[]>;
}

const isErrorBody = (body: unknown): body is ErrorBody =>
  typeof body === 'object' && body !== null && 'code' in body && 'message' in body;

/** Returns the error that a response stands for. */
export function errorOf(response: Response, body: unknown): ApiError {
  const requestId = response.headers.get('x-request-id');
  const retryAfter = response.headers.get('retry-after');
  const retryAfterMs = retryAfter === null ? null : Number(retryAfter) * 1_000;
  if (!isErrorBody(body)) {
    const message = `The service answered with status ${response.status}.`;
    return new ApiError({
      status: response.status,
      code: 'internal_error',
      message,
      requestId,
      retryAfterMs,
    });
  }
  const { code, message, validation_errors: fields } = body;
  return new ApiError({ status: response.status, code, message, fields, requestId, retryAfterMs });
}

/** Returns what to show of anything that was thrown. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : 'Something went wrong.';
