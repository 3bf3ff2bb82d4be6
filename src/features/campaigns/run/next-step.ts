import type { CampaignStep } from '../../../../workflows/campaigns/contract.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { CampaignRow } from '../model.ts';
import type { WaitingReason } from '../schema.ts';
import { isOpen, type Waiting, type WorkAhead } from './waiting.ts';

/** The watching activity keeps running if the wait is shorter than this, in ms. */
const SHORT_WAIT_MS = 120_000;

/**
 * Begins the snapshot of a campaign that is due. Contacts created later are not part of its audience.
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

/** How late the workflow may be before the reconciler checks that it is running. */
const LATE_MS = 15_000;
/** Smallest change of a planned wake-up that is written, in ms. */
const UNWRITTEN_MS = 5_000;

/** Records when the workflow reads the row next. @param wakeMs in ms from now */
export async function expectEngine(db: Queryable, campaignId: number, wakeMs: number): Promise<void> {
  await db.query(
    `update campaigns set engine_expected_by = now() + make_interval(secs => $2)
     where id = $1 and engine_expected_by is not null
       and abs(extract(epoch from engine_expected_by - now()) - $2) > $3`,
    [campaignId, (wakeMs + LATE_MS) / 1_000, UNWRITTEN_MS / 1_000],
  );
}

/** Holds that make the next look pause the campaign. */
const stopping: readonly WaitingReason[] = ['wallet', 'spend_cap', 'sandbox'];
/** Holds that senders check repeatedly. `allowance` may release a few messages at a time. */
const rechecked: readonly WaitingReason[] = ['account_paused', 'domain_unverified', 'provider', 'allowance'];

/** Target number of messages sent between two looks of the watching activity at a throttled campaign. */
const MESSAGES_OF_LOOK = 20;
/** Shortest and longest pause between two looks, in ms. */
const MIN_LOOK_MS = 1_000;
export const MAX_LOOK_MS = 10_000;

/** Returns how long the watching activity waits until its next look, in ms. */
export function lookMs(
  { options }: Pick<CampaignRow, 'options'>,
  { taken, dueSince }: Pick<WorkAhead, 'taken' | 'dueSince'>,
  waiting: Waiting | null,
  asOf: Date,
): number {
  if (waiting && stopping.includes(waiting.reason)) return MIN_LOOK_MS;
  const perMinute = options.throttle_per_minute;
  const paceMs = perMinute ? (MESSAGES_OF_LOOK * 60_000) / perMinute : MIN_LOOK_MS;
  const until = taken || dueSince !== null ? null : waiting?.until;
  const pauseMs = until ? Math.max(paceMs, until.getTime() - asOf.getTime()) : paceMs;
  return Math.min(MAX_LOOK_MS, Math.max(MIN_LOOK_MS, pauseMs));
}

/**
 * Whether the workflow may sleep, because nothing will be sent for minutes unless a release signals it. A block that is
 * not held and is due soon prevents this even if a limit holds others: it may be sent without a signal.
 */
function isIdle({ taken, dueSince, nextFree }: WorkAhead, { reason, until }: Waiting, asOf: Date): boolean {
  if (taken || dueSince !== null) return false;
  const isLater = (time: Date | null) => time === null || time.getTime() > asOf.getTime() + SHORT_WAIT_MS;
  return isLater(nextFree) && (rechecked.includes(reason) || isLater(until));
}

/** Decides the next step of the workflow from the row, the campaign's open work and what that waits for. */
export function nextOf(
  row: CampaignRow,
  work: WorkAhead,
  waiting: Waiting | null,
  asOf: Date,
): CampaignStep['next'] {
  const { status, phase } = row;
  if (status === 'draft' || phase === 'done' || phase === 'draft') return 'done';
  if (status === 'completed') return 'finish';
  if (status === 'paused' || row.approval_state === 'pending' || phase === 'waiting') return 'wait';
  if (phase === 'snapshot') return 'snapshot';
  if (!isOpen(work)) return 'finish';
  // It was held after this look had checked whether to pause the campaign.
  if (waiting === null || stopping.includes(waiting.reason)) return 'watch';
  return isIdle(work, waiting, asOf) ? 'wait' : 'watch';
}
