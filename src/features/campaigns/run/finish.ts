import type pg from 'pg';
import { cancelCampaignMessages } from '../../../delivery/ledger/blocks/campaign-blocks.ts';
import { campaignCounts, type CampaignCounts, NO_RECIPIENTS } from '../campaign-counts.ts';
import { recountBlocks } from '../../../delivery/ledger/blocks/tallies.ts';
import { lockCampaignForChange } from '../../../delivery/ledger/ownership/campaign-lock.ts';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import { createEvent, type PublishedEvent } from '../../../platform/events/define.ts';
import type { EventPublisher, QueuedWork } from '../../../platform/events/publish.ts';
import { campaignEvents } from '../events.ts';
import { type CampaignRow, endCampaign, lockCampaignRow } from '../model.ts';
import { eventCounts } from './counted.ts';
import { clearEvaluated } from './evaluations.ts';

/** Number of messages canceled in one transaction. */
const CANCEL_PAGE = 5_000;

/** Cancels the remaining messages of a canceled campaign, for up to ten seconds. @returns whether none is left */
export async function cancelRest(pool: pg.Pool, campaignId: number, stopping: AbortSignal): Promise<boolean> {
  const endsAt = Date.now() + 10_000;
  for (;;) {
    const page = await inTransaction(pool, (trx) => cancelCampaignMessages(trx, campaignId, CANCEL_PAGE));
    if (page.done) return true;
    // The remaining messages are under intents, whose outcomes must be awaited.
    if (page.canceled === 0 || stopping.aborted || Date.now() > endsAt) return false;
  }
}

export type FailedReason = 'empty_audience' | 'all_skipped' | 'all_failed';

/** Why a campaign has reached no recipient; null if it has reached some, or may have. */
export function failedReason({ audience, sent, failed, unknown }: CampaignCounts): FailedReason | null {
  if (audience === 0) return 'empty_audience';
  if (sent + unknown > 0) return null;
  return failed > 0 ? 'all_failed' : 'all_skipped';
}

/** Whether the campaign has an open block, a queue row or an intent. */
async function hasOpenRows(trx: Queryable, campaignId: number): Promise<boolean> {
  const { rows } = await trx.query<{ open: boolean }>(
    `select exists (select 1 from campaign_blocks where campaign_id = $1 and closed_at is null)
       or exists (select 1 from send_queue where campaign_id = $1)
       or exists (select 1 from handovers where campaign_id = $1) as open`,
    [campaignId],
  );
  return rows[0]?.open === true;
}

function eventOf(
  { id, account_id: accountId, brand_id: brandId, name }: CampaignRow,
  counts: CampaignCounts,
  asOf: Date,
): PublishedEvent {
  const reason = failedReason(counts);
  const data = { campaign_id: id, name, ...eventCounts(counts) };
  const occurrence = { accountId, brandId, occurredAt: asOf };
  return reason === null
    ? createEvent(campaignEvents.completed, { ...occurrence, data })
    : createEvent(campaignEvents.failed, { ...occurrence, data: { ...data, reason } });
}

/**
 * Completes a campaign without open work: writes counts, outcome and event in one transaction.
 * @returns the work to wake; null if work is open, or the campaign does not end now
 */
export async function completeCampaign(
  pool: pg.Pool,
  events: EventPublisher,
  campaignId: number,
  asOf: Date,
): Promise<QueuedWork | null> {
  while ((await recountBlocks(pool, campaignId)) > 0);
  const queued = await inTransaction(pool, async (trx) => {
    await lockCampaignForChange(trx, campaignId);
    const row = await lockCampaignRow(trx, campaignId);
    if (!row) return null;
    const canceled = row.status === 'completed' && row.outcome === 'canceled';
    const ends = canceled ? row.phase !== 'done' : row.status === 'active' && row.phase === 'sending';
    if (!ends || (await hasOpenRows(trx, campaignId))) return null;
    const counts = (await campaignCounts(trx, [campaignId])).get(campaignId) ?? NO_RECIPIENTS;
    if (counts.remaining > 0) return null;
    const outcome = canceled ? 'canceled' : failedReason(counts) === null ? 'completed' : 'failed';
    await endCampaign(trx, campaignId, outcome, asOf);
    await trx.query('delete from campaign_turns where campaign_id = $1', [campaignId]);
    return canceled ? new Map() : events.publish(trx, [eventOf(row, counts, asOf)]);
  });
  if (queued) while (!(await clearEvaluated(pool, campaignId)));
  return queued;
}
