/** How requests change campaigns: with an idempotency key, in a transaction, with contents compiled beside it. */
import type pg from 'pg';
import { wakeCampaign } from '../../delivery/campaign-blocks.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { isKeyTaken, withIdempotency } from '../../platform/db/idempotency.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { idempotentRequest } from '../../platform/http/middlewares/idempotency.ts';
import type { RouteInput } from '../../platform/http/route.ts';
import type { CheckDeps } from './checks.ts';
import { type CompiledContents, withCompiled } from './compiled.ts';
import type { CampaignRow } from './model.ts';
import { presentCampaign } from './presenter.ts';
import { getCampaign } from './service.ts';

export interface Shared {
  pool: pg.Pool;
  waker: Waker;
  deps: CheckDeps;
  /** Finds the idempotency key of a request. */
  requestOf: typeof idempotentRequest;
}

/** Wakes what acts on a campaign that was changed. */
export function wake(waker: Waker, row: CampaignRow): void {
  waker.wake('outbox');
  if (row.status !== 'active' && row.status !== 'completed') return;
  wakeCampaign(waker, {
    accountId: row.account_id,
    channel: row.channel,
    providerId: row.provider_id ?? 0,
  });
}

/** Does work now. @returns a function that returns its result, or throws its error */
async function settle<T>(work: () => Promise<T>): Promise<() => Promise<T>> {
  const [result] = await Promise.allSettled([work()]);
  return async () => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  };
}

type Input<Body> = RouteInput<unknown, unknown, Body, Tenant>;

/**
 * Runs a POST in the transaction that keeps its idempotency key.
 * @param prepare reads what takes a while, before the transaction; a repeated request does not need it
 */
export async function once<Body, Found>(
  { pool, waker, deps, requestOf }: Shared,
  input: Input<Body>,
  endpoint: string,
  status: number,
  prepare: () => Promise<Found>,
  work: (trx: pg.PoolClient, prepared: Found, compiled: CompiledContents) => Promise<CampaignRow>,
) {
  const request = requestOf(input, `POST ${endpoint}`);
  const isRepeated = request !== null && (await isKeyTaken(pool, request));
  // A refusal is kept until the key is taken: another request with the same key may just have done the work.
  const prepared = isRepeated ? prepare : await settle(prepare);
  return withCompiled(deps, (compiled) =>
    withIdempotency(
      pool,
      request,
      async (trx) => {
        const row = await work(trx, await prepared(), compiled);
        const body = await presentCampaign(trx, row, deps.limits);
        return { status, body, resourceId: row.id, afterCommit: () => wake(waker, row) };
      },
      (id) => getCampaign(pool, deps, input.tenant, id),
    ),
  );
}
