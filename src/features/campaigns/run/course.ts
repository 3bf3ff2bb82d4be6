import type { CampaignStep } from '../../../../workflows/campaigns/contract.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { CampaignRow } from '../model.ts';
import { isOpen, type OpenWork } from './waiting.ts';

/** With less to wait, the watching activity stays. */
const SHORT_WAIT_MS = 120_000;

/**
 * Fixes the audience of a campaign whose time has come: contacts that are created later are no part of it.
 * @returns whether the snapshot has begun now
 */
export async function beginSnapshot(db: Queryable, row: CampaignRow, asOf: Date): Promise<boolean> {
  if (row.status !== 'active' || row.phase !== 'waiting') return false;
  const { rowCount } = await db.query(
    `update campaigns set phase = 'snapshot', snapshot_at = $2, started_at = $2, cursor = 0,
       max_contact_id = coalesce((select max(id) from contacts where brand_id = campaigns.brand_id), 0)
     where id = $1 and status = 'active' and phase = 'waiting' and approval_state in ('not_required', 'approved')
       and coalesce(begin_at, $2) <= $2`,
    [row.id, asOf],
  );
  return rowCount === 1;
}

/** By then, the workflow must have looked at the row again, or the reconciler checks that it is running. */
export async function expectEngine(db: Queryable, campaignId: number): Promise<void> {
  await db.query(
    `update campaigns set engine_expected_by = now() + interval '5 minutes'
     where id = $1 and engine_expected_by < now() + interval '4 minutes'`,
    [campaignId],
  );
}

/** Whether nothing happens to the campaign for minutes. */
function isIdle({ taken, due, retries, nextDue, nextRetry }: OpenWork, asOf: Date): boolean {
  const soon = asOf.getTime() + SHORT_WAIT_MS;
  const later = (at: Date | null) => at === null || at.getTime() > soon;
  return taken === 0 && due === 0 && later(nextDue) && (retries === 0 || later(nextRetry));
}

/** What follows from the row and the campaign's open work. */
export function nextOf(
  row: CampaignRow,
  work: OpenWork,
  waitingFor: string | null,
  asOf: Date,
): CampaignStep['next'] {
  const { status, phase } = row;
  if (status === 'draft' || phase === 'done' || phase === 'draft') return 'done';
  if (status === 'completed') return 'finish';
  if (status === 'paused' || row.approval_state === 'pending' || phase === 'waiting') return 'wait';
  if (phase === 'snapshot') return 'snapshot';
  if (!isOpen(work)) return 'finish';
  return waitingFor === 'allowance' || isIdle(work, asOf) ? 'wait' : 'watch';
}
