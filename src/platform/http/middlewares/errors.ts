import type { Logger } from 'pino';
import { AppError, Overload } from '../../../errors.ts';
import { isConnectionError } from '../../db/queryable.ts';
import { ClientGone } from '../body.ts';
import { requestFields, type HttpContext, type Middleware } from '../context.ts';
import { replyError } from '../reply.ts';

/** The status, in logs and metrics, of a request whose client disconnected before the response. */
const CLIENT_GONE = 499;

/**
 * PostgreSQL's codes for lock and statement time-outs, deadlocks, too many connections, starting up, and shutting down.
 */
const TEMPORARY = new Set(['55P03', '57014', '53300', '57P01', '57P02', '57P03', '40001', '40P01']);

function isTemporary(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, name } = error as { code?: unknown; name?: unknown };
  if (typeof code === 'string' && TEMPORARY.has(code)) return true;
  return name === 'KnexTimeoutError' || isConnectionError(error);
}

/**
 * The error that a client sees: an AppError as it is, `unavailable` if the database is unavailable, and a bare
 * `internal_error` without details for anything else.
 */
export function toAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  if (isTemporary(thrown)) {
    return new AppError('unavailable', 'the service cannot answer right now; try again', {
      cause: thrown,
      headers: { 'Retry-After': '1' },
    });
  }
  return new AppError('internal_error', 'something went wrong on our side; quote the X-Request-Id', {
    cause: thrown,
  });
}

/**
 * Turns the errors of the inner middlewares into responses, and logs them.
 * @param show writes the error into the response; by default as JSON
 */
export function errors(
  log: Logger,
  show: (ctx: HttpContext, error: AppError) => void = replyError,
): Middleware {
  return async function errors(ctx, next) {
    try {
      await next();
    } catch (thrown) {
      if (thrown instanceof ClientGone || ctx.res.destroyed) {
        ctx.status = CLIENT_GONE;
        return;
      }
      const error = toAppError(thrown);
      const fields = { ...requestFields(ctx), code: error.code };
      if (error.status >= 500 && !(error instanceof Overload))
        log.error({ ...fields, err: thrown }, 'request failed');
      else log.debug(fields, 'request refused');
      // Half a response cannot be taken back. A broken connection at least shows that it is incomplete.
      if (ctx.headerSent) ctx.res.destroy();
      else show(ctx, error);
    }
  };
}
