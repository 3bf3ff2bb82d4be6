import { type Capacity, readCapacities } from '../../../delivery/ledger/limits/capacity.ts';
import { type LimitSettings, PROVIDER_UNAVAILABLE } from '../../../delivery/ledger/limits/authority.ts';
import { type BlockHoldReason, blockHoldReasons } from '../../../delivery/ledger/limits/block-limits.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { CampaignRow } from '../model.ts';
import type { WaitingReason } from '../schema.ts';
import { decisionTimes } from './variants.ts';

/** Why no messages of an active campaign are being sent now. */
export interface Waiting {
  reason: WaitingReason;
  /** Null if it is not known. */
  until: Date | null;
}

/** The open blocks of a campaign, and its retries. */
export interface OpenWork {
  /** Whether senders have blocks. */
  taken: boolean;
  /** Since when the first block that a sender may take is due; null if none is. */
  dueSince: Date | null;
  /** When the next block after those is due. */
  nextDue: Date | null;
  /** Whether `nextDue` is the local time of its recipients. */
  nextIsLocal: boolean;
  /** The limit that holds blocks; of several, the one that is checked again first. Null if no block is held. */
  heldBy: string | null;
  /** Whether blocks wait for the winner of an A/B test. */
  undecided: boolean;
  retries: boolean;
  nextRetry: Date | null;
}

/** SQL: a block of the campaign `c` that no sender has. */
const FREE = 'campaign_id = c.id and owner is null and closed_at is null';

/** SQL: a block of the campaign `c` that a sender has. */
const TAKEN = 'campaign_id = c.id and closed_at is null and claim_epoch > 0 and owner is not null';

/**
 * SQL: whether a row exists. A subquery with `limit` is always an index look-up, whereas `exists` may read a whole
 * table.
 * @param index the columns of the index that finds the row
 */
const anySql = (table: string, condition: string, index: string) =>
  `(select true from ${table} where ${condition} order by ${index} limit 1) is true`;

/**
 * SQL: each value is the first row of an index, so that it costs the same for any number of blocks. `$2` is the time,
 * `$3` the names of the limits that hold blocks. Due blocks of a throttled campaign can be sent from `next_free_at` on.
 */
const OPEN_WORK = `
  select c.id,
    ${anySql('campaign_blocks', TAKEN, 'n')} as taken,
    (select greatest(due_at, t.next_free_at) from campaign_blocks
      where ${FREE} and due_at <= $2 and t.next_free_at > $2 is not true order by due_at, n limit 1) as "dueSince",
    next.due as "nextDue", next.due = next.not_before is true as "nextIsLocal", held.reason as "heldBy",
    ${anySql('campaign_blocks', `${FREE} and due_at = 'infinity'`, 'due_at, n')} as undecided,
    ${anySql('send_queue', 'campaign_id = c.id', 'due_at')} as retries,
    (select due_at from send_queue where campaign_id = c.id and due_at < 'infinity' order by due_at limit 1) as "nextRetry"
  from unnest($1::bigint[]) as c (id) left join campaign_turns t on t.campaign_id = c.id
  left join lateral (
    select greatest(due_at, t.next_free_at) as due, not_before from campaign_blocks
    where ${FREE} and due_at > case when t.next_free_at > $2 then '-infinity' else $2 end and due_at < 'infinity'
    order by due_at, n limit 1) next on true
  left join lateral (
    select r.reason from unnest($3::text[]) as r (reason) cross join lateral (
      select due_at from campaign_blocks
      where ${FREE} and hold_reason = r.reason and due_at > $2 order by due_at limit 1) first
    order by first.due_at limit 1) held on true`;

/** Reads the open work of campaigns, by campaign. */
async function readOpenWorks(
  db: Queryable,
  campaignIds: readonly number[],
  asOf: Date,
): Promise<Map<number, OpenWork>> {
  if (campaignIds.length === 0) return new Map();
  const { rows } = await db.query<OpenWork & { id: number }>({
    name: 'open_work',
    text: OPEN_WORK,
    values: [campaignIds, asOf, blockHoldReasons],
  });
  return new Map(rows.map(({ id, ...work }) => [id, work]));
}

/** The open work, with what the workflow also needs. */
export interface WorkAhead extends OpenWork {
  /** When the next block or retry that no limit holds is due; null if none is within {@link AHEAD}. */
  nextFree: Date | null;
}

/**
 * How far ahead to search. The workflow looks again by then, see `campaignWaitMs`, so the search need not skip over
 * blocks held until tomorrow.
 */
const AHEAD = `interval '10 minutes'`;

async function nextFreeBlock(db: Queryable, campaignId: number, asOf: Date): Promise<Date | null> {
  const { rows } = await db.query<{ due: Date }>({
    name: 'next_free_block',
    text: `
    select greatest(b.due_at, t.next_free_at) as due
    from campaign_blocks b left join campaign_turns t on t.campaign_id = b.campaign_id
    where b.campaign_id = $1 and b.owner is null and b.closed_at is null and b.hold_reason is null
      and b.due_at <= $2::timestamptz + ${AHEAD}
    order by b.due_at, b.n limit 1`,
    values: [campaignId, asOf],
  });
  return rows[0]?.due ?? null;
}

export async function readOpenWork(db: Queryable, campaignId: number, asOf: Date): Promise<WorkAhead> {
  const work = (await readOpenWorks(db, [campaignId], asOf)).get(campaignId) as OpenWork;
  const nextBlock = work.heldBy === null ? work.nextDue : await nextFreeBlock(db, campaignId, asOf);
  return { ...work, nextFree: earliest(nextBlock, work.nextRetry) };
}

function earliest(...times: (Date | null | undefined)[]): Date | null {
  const known = times.flatMap((time) => (time ? [time.getTime()] : []));
  return known.length === 0 ? null : new Date(Math.min(...known));
}

/** Whether messages of the campaign wait, or are being sent. */
export function isOpen({ taken, dueSince, nextDue, undecided, retries }: OpenWork): boolean {
  return taken || dueSince !== null || nextDue !== null || undecided || retries;
}

/** How long senders may take to claim a due block, in ms. After that, something keeps it waiting. */
const TAKEN_WITHIN_MS = 3_000;

/** The reason that clients see for blocks held by a limit, by the limit's name. */
const shownHolds: Readonly<Record<BlockHoldReason, WaitingReason>> = {
  account_paused: 'account_paused',
  domain_unverified: 'domain_unverified',
  warm_up: 'allowance',
  pacing: 'throttle',
  allowance: 'allowance',
  sandbox_cap: 'sandbox',
  spend_cap: 'spend_cap',
  wallet: 'wallet',
  [PROVIDER_UNAVAILABLE]: 'provider',
};

/** A newer version may have held a block by a limit that is not known here. */
const shownHold = (name: string): WaitingReason =>
  (shownHolds as Readonly<Record<string, WaitingReason>>)[name] ?? 'allowance';

/**
 * @param work of the campaign, which is active and has recipients.
 * @returns `capacity` if the account's limits decide
 */
function whatWorkWaitsFor(row: CampaignRow, work: OpenWork, asOf: Date): WaitingReason | 'capacity' | null {
  if (work.taken) return null;
  if (work.dueSince) {
    return asOf.getTime() - work.dueSince.getTime() > TAKEN_WITHIN_MS ? 'capacity' : null;
  }
  if (row.phase === 'snapshot' && row.audience_count === 0) return 'snapshot';
  if (work.heldBy !== null) return shownHold(work.heldBy);
  if (work.nextDue) return work.nextIsLocal ? 'local_time' : 'throttle';
  if (work.undecided) return 'ab_winner';
  return work.retries ? 'retries' : null;
}

/** When messages of the campaign are sent or checked by senders next, if no block is due. */
function nextOfWork({ nextDue, nextRetry }: OpenWork, decision: Date | undefined): Date | null {
  return earliest(nextDue, nextRetry, decision);
}

/** Returns what a campaign waits for before it has recipients. */
function whatStartWaitsFor(row: CampaignRow, asOf: Date): Waiting | 'work' | null {
  if (row.status !== 'active') return null;
  if (row.approval_state === 'pending') return { reason: 'approval', until: null };
  if (row.phase !== 'waiting') return 'work';
  return row.begin_at && row.begin_at > asOf
    ? { reason: 'schedule', until: row.begin_at }
    : { reason: 'snapshot', until: null };
}

function whatHoldsDueBlocks(capacity: Capacity | undefined): Waiting {
  if (capacity?.pause) return { reason: 'account_paused', until: null };
  const allowance = capacity?.figures.allowance;
  return allowance?.remaining === 0
    ? { reason: 'allowance', until: allowance.resetsAt }
    : { reason: 'provider', until: null };
}

/**
 * Finds out why no messages of campaigns are being sent now, and until when. It takes at most three statements and does
 * not need the engine.
 * @param known.work the open work of campaigns for which the caller has read it
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
  const begun = starts.flatMap(({ row, start }) => (start === 'work' ? [row] : []));
  const unread = begun.flatMap(({ id }) => (work.has(id) ? [] : [id]));
  const works = new Map([...work, ...(await readOpenWorks(db, unread, asOf))]);
  const found = new Map(
    begun.map((row) => [row.id, whatWorkWaitsFor(row, works.get(row.id) as OpenWork, asOf)]),
  );
  const ofCapacity = begun.filter(({ id }) => found.get(id) === 'capacity');
  const accounts = [...new Set(ofCapacity.map((row) => row.account_id))];
  const capacities = await readCapacities(db, accounts, settings);
  const decisions = await decisionTimes(
    db,
    begun.filter(({ id }) => works.get(id)?.undecided),
  );
  return new Map(
    starts.map(({ row: { id, account_id: accountId }, start }) => {
      if (start !== 'work') return [id, start];
      const reason = found.get(id) ?? null;
      if (reason === null) return [id, null];
      if (reason === 'capacity') return [id, whatHoldsDueBlocks(capacities.get(accountId))];
      const until = reason === 'snapshot' ? null : nextOfWork(works.get(id) as OpenWork, decisions.get(id));
      return [id, { reason, until }];
    }),
  );
}
