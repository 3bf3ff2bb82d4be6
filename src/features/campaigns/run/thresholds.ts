import type pg from 'pg';
import { createEvent } from '../../../platform/events/define.ts';
import type { EventPublisher, QueuedWork } from '../../../platform/events/publish.ts';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import { campaignCounts } from '../../../delivery/campaign-counts.ts';
import { lockCampaignForChange } from '../../../delivery/campaign-lock.ts';
import { campaignEvents } from '../events.ts';
import type { CampaignRow, CampaignStop } from '../model.ts';
import { pauseCampaign } from '../transitions.ts';
import { eventCounts } from './counted.ts';

/** When a campaign stops itself. Rates are parts of the emails accepted or bounced at hand-over. */
export interface StopThresholds {
  bounceRate: number;
  minBounces: number;
  complaintRate: number;
  minComplaints: number;
  /** Emails that must have been counted before a rate means anything. */
  minCounted: number;
}

/** Emails since the send or the last resume. */
export interface Harm {
  counted: number;
  bounced: number;
  complained: number;
}

/** @returns null while the campaign may go on */
export function stopReason(
  { counted, bounced, complained }: Harm,
  limits: StopThresholds,
): Pick<CampaignStop, 'reason' | 'rate' | 'threshold'> | null {
  if (counted < limits.minCounted) return null;
  if (bounced >= limits.minBounces && bounced / counted >= limits.bounceRate) {
    return { reason: 'bounce_rate', rate: bounced / counted, threshold: limits.bounceRate };
  }
  if (complained >= limits.minComplaints && complained / counted >= limits.complaintRate) {
    return { reason: 'complaint_rate', rate: complained / counted, threshold: limits.complaintRate };
  }
  return null;
}

/**
 * Adds up the closed blocks since the send or the last resume, and counts the rows of blocks that senders have now. Call
 * it after `recountBlocks`.
 */
export async function readHarm(db: Queryable, campaignId: number): Promise<Harm> {
  const { rows } = await db.query<Harm>(
    `select coalesce(sum(h.counted), 0) as counted, coalesce(sum(h.bounced), 0) as bounced,
       coalesce(sum(h.complained), 0) as complained
     from campaigns c cross join lateral (
       select b.counted, b.bounced, b.complained from campaign_blocks b
       where b.campaign_id = c.id and b.closed_at >= coalesce(c.counted_from, '-infinity')
       union all
       select count(*), count(*) filter (where m.bounce->>'type' = 'hard'),
         count(*) filter (where m.status = 'complained')
       from campaign_blocks b join messages m on m.campaign_id = b.campaign_id and m.id between b.first_id and b.last_id
       where b.campaign_id = c.id and b.closed_at is null and b.claim_epoch > 0 and m.channel = 'email'
         and (m.sent_at is not null or m.status = 'bounced')
         and coalesce(m.sent_at, m.updated_at) >= coalesce(c.counted_from, '-infinity')
     ) h where c.id = $1`,
    [campaignId],
  );
  return rows[0] ?? { counted: 0, bounced: 0, complained: 0 };
}

/**
 * Pauses a campaign that does harm, and publishes the event, in one transaction.
 * @returns the work to wake; null if the campaign goes on
 */
export async function stopIfHarmful(
  pool: pg.Pool,
  events: EventPublisher,
  row: Pick<CampaignRow, 'id'>,
  limits: StopThresholds,
  asOf: Date,
): Promise<QueuedWork | null> {
  if (!stopReason(await readHarm(pool, row.id), limits)) return null;
  return inTransaction(pool, async (trx) => {
    // A resume may have come between: the rates count from there.
    await lockCampaignForChange(trx, row.id);
    const reason = stopReason(await readHarm(trx, row.id), limits);
    if (!reason) return null;
    const stop = { ...reason, at: asOf.toISOString() };
    const paused = await pauseCampaign(trx, row, { stop, asOf });
    if (!paused) return null;
    const { id, account_id: accountId, brand_id: brandId, name } = paused;
    const counts = (await campaignCounts(trx, [id])).get(id);
    const data = {
      campaign_id: id,
      name,
      ...eventCounts(counts),
      stop,
    };
    return events.publish(trx, [
      createEvent(campaignEvents.stopped, { accountId, brandId, occurredAt: asOf, data }),
    ]);
  });
}
