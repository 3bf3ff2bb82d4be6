import type pg from 'pg';
import { wakeCampaign } from '../../delivery/ledger/blocks/campaign-blocks.ts';
import type { CreatedResult } from '../../platform/db/idempotency.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { CheckDeps } from './checks.ts';
import type { CampaignRow } from './model.ts';
import { presentCampaign } from './presenter.ts';

export interface Shared {
  pool: pg.Pool;
  waker: Waker;
  deps: CheckDeps;
}

/** Call it after the commit of a change; it wakes the loops that act on the campaign. */
export function wake(waker: Waker, row: CampaignRow): void {
  waker.wake('outbox');
  if (row.status !== 'active' && row.status !== 'completed') return;
  wakeCampaign(waker, {
    accountId: row.account_id,
    channel: row.channel,
    providerId: row.provider_id ?? 0,
  });
}

/** The result of a POST on a campaign. */
export async function campaignResult(
  { waker, deps }: Shared,
  trx: pg.PoolClient,
  row: CampaignRow,
  status = 200,
): Promise<CreatedResult> {
  const body = await presentCampaign(trx, row, deps.limits);
  return { status, body, resourceId: row.id, afterCommit: () => wake(waker, row) };
}
