import type { Readable } from 'node:stream';
import { type AppError, errorBody } from '../../errors.ts';
import type { HttpContext } from './context.ts';

/** A JSON response. A `body` of null is the JSON value null. */
export interface JsonResult {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
  /** Whether this replays an earlier request with the same idempotency key; sets `Idempotent-Replayed`. */
  replayed?: boolean;
}

/** A response that is not JSON: a page, a file, a YAML document. */
export interface RawResult {
  status: number;
  raw: { contentType: string; body: string | Buffer | Readable };
  headers?: Record<string, string>;
}

export type RouteResult = JsonResult | RawResult;

const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Writes a handler's result to Koa's response. JSON is serialized here and not by Koa: an error in it still reaches the
 * `errors` middleware, null stays a JSON value (for Koa it means 204), and Koa need not look up the content type of
 * every response.
 */
export function reply(ctx: HttpContext, result: RouteResult): void {
  const isRaw = 'raw' in result;
  const body = isRaw ? result.raw.body : JSON.stringify(result.body ?? null);
  ctx.status = result.status;
  if (result.headers) ctx.set(result.headers);
  if (!isRaw && result.replayed) ctx.set('Idempotent-Replayed', 'true');
  if (!isRaw) showId(ctx, result.body);
  if (result.status === 204) return;
  ctx.set('Content-Type', isRaw ? result.raw.contentType : JSON_TYPE);
  ctx.body = body;
}

/** Remembers the id of the resource for the audit log. */
function showId({ state }: HttpContext, body: unknown): void {
  if (typeof body !== 'object' || body === null || !('id' in body)) return;
  if (typeof body.id === 'number' || typeof body.id === 'string') state.resourceId = String(body.id);
}

/** Writes an error to Koa's response, in the error shape. */
export function replyError(ctx: HttpContext, error: AppError): void {
  reply(ctx, {
    status: error.status,
    body: errorBody(error),
    // The route may have set its own caching headers before it failed.
    headers: { 'Cache-Control': 'no-store', ...error.headers },
  });
}
