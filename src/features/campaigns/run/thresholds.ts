import type pg from 'pg';
import { createEvent } from '../../../platform/events/define.ts';
import type { EventPublisher, QueuedWork } from '../../../platform/events/publish.ts';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import { campaignCounts } from '../campaign-counts.ts';
import { lockCampaignForChange } from '../../../delivery/ledger/ownership/campaign-lock.ts';
import { isChannelSql } from '../../../delivery/terms/channels/index.ts';
import {
  type ReputationCounts,
  stopReason,
  type StopThresholds,
} from '../../../delivery/ledger/limits/stop-thresholds.ts';
import { campaignEvents } from '../events.ts';
import { whyUnsendable } from './unsendable-blocks.ts';
import type { CampaignRow, CampaignStop } from '../model.ts';
import { pauseCampaign } from '../transitions.ts';
import { eventCounts } from './counted.ts';

/** SQL: the counts of blocks of the campaign `c` that were closed before its rates began to count. */
const BEFORE = `
  select coalesce(sum(counted), 0) as counted, coalesce(sum(bounced), 0) as bounced,
    coalesce(sum(complained), 0) as complained
  from campaign_blocks where campaign_id = c.id and closed_at < c.counted_from`;

/** SQL: whether the sums `s` contain the counts before the send or the last resume of the campaign `c`. */
const KNOWN = 's.counted_from is not distinct from c.counted_from';

/**
 * Stores the counts of blocks closed before the send or the last resume, unless they are stored already. They are
 * final, and do not count towards the rates.
 */
export async function startRates(db: Queryable, campaignId: number): Promise<void> {
  await db.query(
    `update campaign_sums o set counted_from = b.counted_from, counted_before = b.counted, bounced_before = b.bounced,
       complained_before = b.complained
     from (
       select c.id, c.counted_from, f.* from campaigns c join campaign_sums s on s.campaign_id = c.id and not (${KNOWN})
       cross join lateral (${BEFORE}) f where c.id = $1) b
     where o.campaign_id = b.id`,
    [campaignId],
  );
}

/**
 * Reads the sums of blocks closed since the send or the last resume, and adds the rows of blocks that senders have now.
 * Call it after `recountBlocks` and {@link startRates}.
 */
export async function readReputation(db: Queryable, campaignId: number): Promise<ReputationCounts> {
  const { rows } = await db.query<ReputationCounts>(
    `select coalesce(s.counted, 0) - f.counted + h.counted as counted,
       coalesce(s.bounced, 0) - f.bounced + h.bounced as bounced,
       coalesce(s.complained, 0) - f.complained + h.complained as complained
     from campaigns c left join campaign_sums s on s.campaign_id = c.id
     cross join lateral (
       select s.counted_before as counted, s.bounced_before as bounced, s.complained_before as complained
       where s.campaign_id is not null and ${KNOWN}
       union all
       select 0, 0, 0 where s.campaign_id is null
       union all
       -- It was resumed since.
       ${BEFORE} and not (${KNOWN}) having s.campaign_id is not null and not (${KNOWN})) f
     cross join lateral (
       select count(*) as counted, count(*) filter (where m.bounce->>'type' = 'hard') as bounced,
         count(*) filter (where m.status = 'complained') as complained
       from campaign_blocks b join messages m on m.campaign_id = b.campaign_id and m.id between b.first_id and b.last_id
       where b.campaign_id = c.id and b.closed_at is null and b.claim_epoch > 0 and ${isChannelSql('m.channel', ({ hasRates }) => hasRates)}
         and (m.sent_at is not null or m.status = 'bounced')
         and coalesce(m.sent_at, m.updated_at) >= coalesce(c.counted_from, '-infinity')
     ) h where c.id = $1`,
    [campaignId],
  );
  return rows[0] ?? { counted: 0, bounced: 0, complained: 0 };
}

type Why = Omit<CampaignStop, 'at'>;

/**
 * Pauses a campaign for a reason that still holds under its lock, in one transaction.
 * @param published publishes the events of the pause in its transaction
 * @returns the work to wake; null if the campaign continues
 */
async function pauseForReason(
  pool: pg.Pool,
  row: Pick<CampaignRow, 'id'>,
  asOf: Date,
  readReason: (db: Queryable) => Promise<Why | null>,
  published: (trx: Queryable, paused: CampaignRow, stopped: CampaignStop) => Promise<QueuedWork>,
): Promise<QueuedWork | null> {
  if (!(await readReason(pool))) return null;
  return inTransaction(pool, async (trx) => {
    // The campaign may have been resumed in the meantime.
    await lockCampaignForChange(trx, row.id);
    const reason = await readReason(trx);
    if (!reason) return null;
    const stopped = { ...reason, at: asOf.toISOString() };
    const paused = await pauseCampaign(trx, row, { stop: stopped, asOf });
    return paused && published(trx, paused, stopped);
  });
}

/**
 * Pauses a campaign whose rates exceed a threshold, and publishes `campaign.stopped`; see {@link pauseForReason}. The
 * rates count from the last resume on.
 */
export async function stopIfHarmful(
  pool: pg.Pool,
  events: EventPublisher,
  row: Pick<CampaignRow, 'id'>,
  limits: StopThresholds,
  asOf: Date,
): Promise<QueuedWork | null> {
  const readReason = async (db: Queryable) => stopReason(await readReputation(db, row.id), limits);
  return pauseForReason(pool, row, asOf, readReason, async (trx, paused, stopped) => {
    const { id, account_id: accountId, brand_id: brandId, name } = paused;
    const counts = (await campaignCounts(trx, [id])).get(id);
    const data = { campaign_id: id, name, ...eventCounts(counts), stop: stopped };
    return events.publish(trx, [
      createEvent(campaignEvents.stopped, { accountId, brandId, occurredAt: asOf, data }),
    ]);
  });
}

const NO_WORK: QueuedWork = new Map();

/**
 * Pauses a campaign that its account cannot pay for, or whose sender is no longer verified; see {@link pauseForReason}.
 * It publishes no event: `campaign.stopped` is for bounces and complaints only (interface §6.4).
 */
export async function stopIfUnsendable(
  pool: pg.Pool,
  row: Pick<CampaignRow, 'id'>,
  asOf: Date,
): Promise<QueuedWork | null> {
  const readReason = async (db: Queryable) => {
    const reason = await whyUnsendable(db, row.id, asOf);
    return reason && { reason, rate: null, threshold: null };
  };
  return pauseForReason(pool, row, asOf, readReason, () => Promise.resolve(NO_WORK));
}
