import { hash } from 'node:crypto';
import type pg from 'pg';
import { isTestCaller } from '../../auth/tenant.ts';
import { fingerprintOf, keySpace, withIdempotency, type IdempotentRequest } from '../../db/idempotency.ts';
import type { Middleware } from '../context.ts';
import type { RouteInput } from '../input.ts';
import { reply } from '../reply.ts';
import type { TransactionalHandler } from '../route.ts';

/**
 * The idempotency key of a request, with a fingerprint of its whole payload: parameters, query, body and file.
 * @param endpoint method and path of the route, such as `POST /v1/my/webhooks`
 * @returns null if the client sent no key
 */
export function idempotentRequest(input: RouteInput, endpoint: string): IdempotentRequest | null {
  const { idempotencyKey: key, params, query, body, file, stored, tenant } = input;
  const brandId = tenant?.brandId ?? null;
  if (key === null || tenant === null || brandId === null) return null;
  const upload = stored
    ? { filename: stored.filename, sha256: stored.sha256 }
    : file && { filename: file.filename, sha256: hash('sha256', file.bytes, 'hex') };
  const fingerprint = fingerprintOf({ params, query, body, upload });
  return { brandId, endpoint: keySpace(endpoint, isTestCaller(tenant.actor)), key, fingerprint };
}

/**
 * Runs the handler in the transaction that also keeps the idempotency key, or replays the first response.
 * @param endpoint as for {@link idempotentRequest}
 */
export function idempotency(
  pool: pg.Pool,
  endpoint: string,
  { create, load }: TransactionalHandler,
): Middleware {
  return async function idempotency(ctx) {
    const { input } = ctx.state;
    if (!input) throw new Error('idempotency runs after validate');
    const result = await withIdempotency(
      pool,
      idempotentRequest(input, endpoint),
      (trx) => create(input, trx),
      (resourceId) => load(input, resourceId),
    );
    reply(ctx, result);
  };
}
