import type pg from 'pg';
import { wakeCampaign } from '../../delivery/blocks/campaign-blocks.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { RequestDeps } from '../templates/service.ts';
import type { CheckDeps } from './checks.ts';
import type { CampaignRow } from './model.ts';

export interface Shared extends RequestDeps<CampaignRow> {
  pool: pg.Pool;
  waker: Waker;
  deps: CheckDeps;
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
