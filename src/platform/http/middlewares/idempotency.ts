import { hash } from 'node:crypto';
import type pg from 'pg';
import { AppError } from '../../../errors.ts';
import { isTestCaller, sendKeyOf } from '../../auth/tenant.ts';
import {
  findOutcome,
  fingerprintOf,
  keySpace,
  replay,
  withIdempotency,
  type IdempotentRequest,
  type IdempotentResult,
} from '../../db/idempotency.ts';
import type { Middleware } from '../context.ts';
import type { RouteInput } from '../input.ts';
import { reply } from '../reply.ts';
import { withEtag } from '../etag.ts';
import type { IdempotentPhases, OnceRoute } from '../route.ts';

/**
 * The idempotency key of a request, with a fingerprint of its whole payload: parameters, query, body and file.
 * @param endpoint method and path of the route, such as `POST /v1/my/webhooks`
 * @returns null if the client sent no key
 */
function idempotentRequest(
  input: RouteInput,
  endpoint: string,
  { payload }: IdempotentPhases,
): IdempotentRequest | null {
  const { idempotencyKey: key, params, query, file, stored, tenant } = input;
  const brandId = tenant?.brandId ?? null;
  if (key === null || tenant === null || brandId === null) return null;
  const upload = stored
    ? { filename: stored.filename, sha256: stored.sha256 }
    : file && { filename: file.filename, sha256: hash('sha256', file.bytes, 'hex') };
  const body = payload ? payload(input) : input.body;
  const fingerprint = fingerprintOf({ params, query, body, upload });
  return { brandId, endpoint: keySpace(endpoint, isTestCaller(tenant.actor)), key, fingerprint };
}

/**
 * Handles a request once for each key, in the phases that {@link IdempotentPhases} describes.
 *
 * If `prepare` refuses a request that has a key, the refusal waits until the transaction has taken the key: another
 * request with the key may just have succeeded, which makes this request a replay.
 */
async function once(
  pool: pg.Pool,
  endpoint: string,
  phases: IdempotentPhases,
  input: RouteInput,
): Promise<IdempotentResult> {
  const known = idempotentRequest(input, endpoint, phases);
  const load = (resourceId: number) => phases.load(input, resourceId);
  const kept = phases.prepare && known && (await findOutcome(pool, known));
  if (kept) return replay(kept, load);
  const [prepared] = await Promise.allSettled([phases.prepare?.(input)]);
  if (prepared.status === 'rejected' && known === null) throw prepared.reason;
  let isHandled = false;
  try {
    if (phases.ensureBrand && input.tenant?.brandId === null) {
      input.tenant = { ...input.tenant, brandId: await phases.ensureBrand(input.tenant) };
    }
    const handle = async (trx: pg.PoolClient) => {
      if (prepared.status === 'rejected') throw prepared.reason;
      const created = await phases.handler(input, trx, prepared.value);
      isHandled = true;
      return created;
    };
    return await withIdempotency(pool, known ?? idempotentRequest(input, endpoint, phases), handle, load);
  } finally {
    if (!isHandled && prepared.status === 'fulfilled') await phases.discard?.(prepared.value);
  }
}

/**
 * The refusal as the caller sees it. A send-only key does not learn whether another key had the same payload, which it
 * could guess until it does.
 */
function seenBy(tenant: RouteInput['tenant'], error: unknown): unknown {
  const isConflict = error instanceof AppError && error.code === 'idempotency_conflict';
  if (!isConflict || tenant === null || sendKeyOf(tenant) === null) return error;
  const message = 'this idempotency key was used with a different payload, or with another API key';
  return new AppError('idempotency_conflict', message, { cause: error });
}

/**
 * Runs the handler in the transaction that also keeps the idempotency key, or replays the first response.
 */
export function idempotency(pool: pg.Pool, route: OnceRoute): Middleware {
  const endpoint = `${route.method} ${route.path}`;
  return async function idempotency(ctx) {
    const { input } = ctx.state;
    if (!input) throw new Error('idempotency runs after validate');
    try {
      reply(ctx, withEtag(route, await once(pool, endpoint, route, input)));
    } catch (error) {
      throw seenBy(input.tenant, error);
    }
  };
}
