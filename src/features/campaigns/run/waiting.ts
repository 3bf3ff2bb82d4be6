import { type Capacity, readCapacities } from '../../../delivery/limits/capacity.ts';
import type { LimitSettings } from '../../../delivery/limits/authority.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { CampaignRow } from '../model.ts';
import type { WaitingReason } from '../schema.ts';
import { decisionTimes } from './variants.ts';

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

/** The open work of campaigns, by campaign. */
async function readOpenWorks(
  db: Queryable,
  campaignIds: readonly number[],
  asOf: Date,
): Promise<Map<number, OpenWork>> {
  if (campaignIds.length === 0) return new Map();
  const { rows } = await db.query<OpenWork & { id: number }>(
    // What is due of a throttled campaign goes when its last recipients leave it free to.
    `select c.id, b.*, q.* from unnest($1::bigint[]) as c (id) left join campaign_turns t on t.campaign_id = c.id
     cross join lateral (
       select count(*) filter (where owner is not null) as taken,
         count(*) filter (where owner is null and due <= $2) as due,
         min(due) filter (where owner is null and due <= $2) as "dueSince",
         min(due) filter (where owner is null and due > $2 and isfinite(due)) as "nextDue",
         min(due) filter (where owner is null and due > $2 and isfinite(due))
           = min(not_before) filter (where owner is null and due > $2 and isfinite(due)) as "nextIsLocal",
         count(*) filter (where due = 'infinity') as undecided
       from (
         select owner, not_before, greatest(due_at, t.next_free_at) as due
         from campaign_blocks where campaign_id = c.id and closed_at is null) o
     ) b cross join lateral (
       select count(*) as retries, min(due_at) filter (where isfinite(due_at)) as "nextRetry"
       from send_queue where campaign_id = c.id
     ) q`,
    [campaignIds, asOf],
  );
  return new Map(rows.map(({ id, ...work }) => [id, work]));
}

export async function readOpenWork(db: Queryable, campaignId: number, asOf: Date): Promise<OpenWork> {
  return (await readOpenWorks(db, [campaignId], asOf)).get(campaignId) as OpenWork;
}

/** Whether recipients of the campaign wait, or are being sent to. */
export function isOpen({ taken, due, nextDue, undecided, retries }: OpenWork): boolean {
  return taken + due + undecided + retries > 0 || nextDue !== null;
}

/** A block that no sender has taken by then is kept waiting by something. */
const TAKEN_WITHIN_MS = 3_000;

/** What a campaign waits for if its own state does not say. */
type Unread = 'capacity' | 'decision';

/** @param work of the campaign, which is active and has recipients */
function whatWorkWaitsFor(row: CampaignRow, work: OpenWork, asOf: Date): Waiting | Unread | null {
  if (work.taken > 0) return null;
  if (work.due > 0) {
    const isLate = work.dueSince !== null && asOf.getTime() - work.dueSince.getTime() > TAKEN_WITHIN_MS;
    return isLate ? 'capacity' : null;
  }
  if (row.phase === 'snapshot' && row.audience_count === 0) return { reason: 'snapshot', until: null };
  if (work.nextDue) return { reason: work.nextIsLocal ? 'local_time' : 'throttle', until: work.nextDue };
  if (work.undecided > 0) return 'decision';
  return work.retries > 0 ? { reason: 'retries', until: work.nextRetry } : null;
}

/** What a campaign waits for before it has recipients. */
function whatStartWaitsFor(row: CampaignRow, asOf: Date): Waiting | 'work' | null {
  if (row.status !== 'active') return null;
  if (row.approval_state === 'pending') return { reason: 'approval', until: null };
  if (row.phase !== 'waiting') return 'work';
  return row.begin_at && row.begin_at > asOf
    ? { reason: 'schedule', until: row.begin_at }
    : { reason: 'snapshot', until: null };
}

function whatHoldsDueBlocks(capacity: Capacity | undefined): Waiting {
  const allowance = capacity?.figures.allowance;
  if (!capacity?.pause && allowance?.remaining === 0) {
    return { reason: 'allowance', until: allowance.resetsAt };
  }
  return { reason: 'provider', until: null };
}

/**
 * Says why nothing of campaigns is sent now, and until when. It needs no engine, and at most three statements.
 * @param known.work of campaigns of which the caller has read it
 * @returns by campaign; null if the campaign is being sent, is not active, or has ended
 */
export async function waitingOf(
  db: Queryable,
  rows: readonly CampaignRow[],
  {
    settings,
    asOf,
    work = new Map(),
  }: { settings: LimitSettings; asOf: Date; work?: ReadonlyMap<number, OpenWork> },
): Promise<Map<number, Waiting | null>> {
  const starts = rows.map((row) => ({ row, start: whatStartWaitsFor(row, asOf) }));
  const unread = starts.flatMap(({ row: { id }, start }) => (start === 'work' && !work.has(id) ? [id] : []));
  const works = new Map([...work, ...(await readOpenWorks(db, unread, asOf))]);
  const found = starts.map(({ row, start }) => ({
    row,
    waits: start === 'work' ? whatWorkWaitsFor(row, works.get(row.id) as OpenWork, asOf) : start,
  }));
  const those = (kind: Unread) => found.flatMap(({ row, waits }) => (waits === kind ? [row] : []));
  const accounts = [...new Set(those('capacity').map((row) => row.account_id))];
  const capacities = await readCapacities(db, accounts, settings);
  const decisions = await decisionTimes(db, those('decision'));
  return new Map(
    found.map(({ row: { id, account_id: accountId }, waits }) => {
      if (waits === 'capacity') return [id, whatHoldsDueBlocks(capacities.get(accountId))];
      if (waits === 'decision') return [id, { reason: 'ab_winner', until: decisions.get(id) ?? null }];
      return [id, waits];
    }),
  );
}
