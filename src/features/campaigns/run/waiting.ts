import { readCapacity } from '../../../delivery/limits/capacity.ts';
import type { LimitSettings } from '../../../delivery/limits/authority.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { CampaignRow } from '../model.ts';
import type { WaitingReason } from '../schema.ts';
import { decisionTime } from './variants.ts';

/** Why nothing of an active campaign is sent now. */
export interface Waiting {
  reason: WaitingReason;
  /** Null: it is not known. */
  until: Date | null;
}

/** The blocks of a campaign that are not closed, and its retries. */
export interface OpenWork {
  /** Blocks that senders have. */
  taken: number;
  /** Blocks that senders may take. */
  due: number;
  /** Since when the first of them is due. */
  dueSince: Date | null;
  /** When the next other block is due. */
  nextDue: Date | null;
  /** Whether `nextDue` is the local time of its recipients. */
  nextIsLocal: boolean;
  /** Blocks that wait for the winner of an A/B test. */
  undecided: number;
  retries: number;
  nextRetry: Date | null;
}

export async function readOpenWork(db: Queryable, campaignId: number, asOf: Date): Promise<OpenWork> {
  const { rows } = await db.query<OpenWork>(
    `select b.*, q.* from (
       select count(*) filter (where owner is not null) as taken,
         count(*) filter (where owner is null and due_at <= $2) as due,
         min(due_at) filter (where owner is null and due_at <= $2) as "dueSince",
         min(due_at) filter (where owner is null and due_at > $2 and isfinite(due_at)) as "nextDue",
         min(due_at) filter (where owner is null and due_at > $2 and isfinite(due_at))
           = min(not_before) filter (where owner is null and due_at > $2 and isfinite(due_at)) as "nextIsLocal",
         count(*) filter (where due_at = 'infinity') as undecided
       from campaign_blocks where campaign_id = $1 and closed_at is null
     ) b cross join (
       select count(*) as retries, min(due_at) filter (where isfinite(due_at)) as "nextRetry"
       from send_queue where campaign_id = $1
     ) q`,
    [campaignId, asOf],
  );
  return rows[0] as OpenWork;
}

/** Whether recipients of the campaign wait, or are being sent to. */
export function isOpen({ taken, due, nextDue, undecided, retries }: OpenWork): boolean {
  return taken + due + undecided + retries > 0 || nextDue !== null;
}

/** A block that no sender has taken by then is kept waiting by something. */
const TAKEN_WITHIN_MS = 3_000;

async function whatHoldsDueBlocks(
  db: Queryable,
  row: CampaignRow,
  settings: LimitSettings,
): Promise<Waiting> {
  const { figures, pause } = await readCapacity(db, row.account_id, settings);
  const { allowance } = figures;
  if (!pause && allowance.remaining === 0) return { reason: 'allowance', until: allowance.resetsAt };
  return { reason: 'provider', until: null };
}

/** @param work of the campaign, which is active and has recipients */
async function whatWorkWaitsFor(
  db: Queryable,
  row: CampaignRow,
  { work, settings, asOf }: { work: OpenWork; settings: LimitSettings; asOf: Date },
): Promise<Waiting | null> {
  if (work.taken > 0) return null;
  if (work.due > 0) {
    const late = work.dueSince !== null && asOf.getTime() - work.dueSince.getTime() > TAKEN_WITHIN_MS;
    return late ? whatHoldsDueBlocks(db, row, settings) : null;
  }
  if (row.phase === 'snapshot' && row.audience_count === 0) return { reason: 'snapshot', until: null };
  if (work.nextDue) return { reason: work.nextIsLocal ? 'local_time' : 'throttle', until: work.nextDue };
  if (work.undecided > 0) return { reason: 'ab_winner', until: await decisionTime(db, row) };
  return work.retries > 0 ? { reason: 'retries', until: work.nextRetry } : null;
}

/**
 * Says why nothing of a campaign is sent now, and until when. It needs no engine.
 * @param known.work if the caller has read it
 * @returns null if the campaign is being sent, is not active, or has ended
 */
export async function waitingFor(
  db: Queryable,
  row: CampaignRow,
  { settings, asOf, work }: { settings: LimitSettings; asOf: Date; work?: OpenWork },
): Promise<Waiting | null> {
  if (row.status !== 'active') return null;
  if (row.approval_state === 'pending') return { reason: 'approval', until: null };
  if (row.phase === 'waiting') {
    return row.begin_at && row.begin_at > asOf
      ? { reason: 'schedule', until: row.begin_at }
      : { reason: 'snapshot', until: null };
  }
  return whatWorkWaitsFor(db, row, {
    work: work ?? (await readOpenWork(db, row.id, asOf)),
    ...{ settings, asOf },
  });
}
