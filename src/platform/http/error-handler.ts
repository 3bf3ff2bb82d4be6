import { AppError } from '../../errors.ts';
import { isConnectionError } from '../db/queryable.ts';

/** PostgreSQL's codes for "not now": lock and statement time-outs, no connection left, starting up or shutting down. */
const NOT_NOW = new Set(['55P03', '57014', '53300', '57P01', '57P02', '57P03', '40001', '40P01']);

function isNotNow(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && NOT_NOW.has(code)) return true;
  return error.name === 'KnexTimeoutError' || isConnectionError(error);
}

/**
 * The error a client is told of: our own as it is, a database that is away as `unavailable`,
 * anything else as a bare `internal_error` that gives nothing away.
 */
export function toAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  if (isNotNow(thrown)) {
    return new AppError('unavailable', 'the service cannot answer just now; try again', {
      cause: thrown,
      headers: { 'Retry-After': '1' },
    });
  }
  return new AppError('internal_error', 'something went wrong on our side; quote the X-Request-Id', {
    cause: thrown,
  });
}
