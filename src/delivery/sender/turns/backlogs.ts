import type { Queryable } from '../../../platform/db/queryable.ts';
import { channelOfQueue } from '../../terms/channels/queue-channel.ts';
import { messageClasses } from '../../terms/message.ts';
import {
  type Backlog,
  backlogName,
  BLOCKS_CLASS,
  firstDueSql,
  parseBacklogName,
  shareName,
} from '../../terms/backlog.ts';

/** Minimum time between two walks. Wake-ups name new work, so a walk finds only what they have missed. */
const WALK_INTERVAL_MS = 500;
/** Maximum share of its time that a sender spends on walks. */
const MAX_WALK_SHARE = 1 / 20;

/**
 * The backlogs with due messages, as far as a sender knows. Most wake-ups name the backlogs that have new messages, so
 * a sender claims only from these and from those that its last claims have not emptied. A walk over all backlogs, at
 * most every half second, finds the rest: retries, messages that other processes gave back, and lost notifications. A
 * walk also shows when each of the other backlogs will be due; until then the sender does not claim from it.
 */
export interface Backlogs {
  /**
   * Notes backlogs that have new messages.
   * @param names null: any backlog may have some, so the next round begins with a walk
   */
  hint(names: readonly string[] | null): void;
  /** Walks over all backlogs if a walk is due. */
  refresh(): Promise<void>;
  /** The backlogs of a share of the queue that may have due messages. @param share as `shareName` returns it */
  due(share: string): Iterable<DueBacklog>;
  /** All backlogs that the last walk found or that were named since. */
  all(): Iterable<Backlog>;
  /** Forgets a backlog that a claim has emptied, unless a hint named it after the claim began. */
  emptied(backlog: DueBacklog): void;
  /** Milliseconds until the next backlog is due; null if none is known. */
  nextLookMs(): number | null;
}

export interface DueBacklog extends Backlog {
  readonly name: string;
}

interface LaterBacklog extends Backlog {
  /** In milliseconds of the clock given to {@link createBacklogs}. */
  dueAt: number;
}

/**
 * @returns every backlog with unclaimed messages, found by jumping through the index from one to the next, and every
 *   backlog with unclaimed blocks of active campaigns, due with its first block. Queues of other versions are left alone:
 *   their messages are neither claimed nor moved to another provider
 */
async function walk(client: Queryable): Promise<(Backlog & { waitMs: number })[]> {
  const { rows } = await client.query<Omit<Backlog, 'channel'> & { waitMs: number }>({
    name: 'find_due_backlogs_2',
    text: `
    ${firstDueSql}
    select channel as queue, class, account_id as "accountId", provider_id as "providerId",
      -- Retries of a paused campaign are due at infinity.
      (extract(epoch from least(due_at, now() + interval '1 hour') - now()) * 1000)::float8 as "waitMs"
    from (
      select * from backlog
      union all
      select b.channel, ${BLOCKS_CLASS}, b.account_id, b.provider_id, min(greatest(b.due_at, t.next_free_at))
      from campaigns c left join campaign_turns t
        on t.campaign_id = c.id and c.options ->> 'throttle_per_minute' is not null
      cross join lateral (
        select channel, account_id, provider_id, due_at from campaign_blocks
        where campaign_id = c.id and owner is null and closed_at is null order by campaign_id, due_at, n limit 1) b
      where c.status = 'active' and c.approval_state <> 'pending'
      and c.phase in ('snapshot', 'sending') group by 1, 3, 4) found`,
  });
  return rows.flatMap((row) => {
    const channel = channelOfQueue(row.queue);
    return channel ? { ...row, channel } : [];
  });
}

class KnownBacklogs implements Backlogs {
  readonly #client: Queryable;
  readonly #now: () => number;
  #due = new Map<string, Map<string, DueBacklog>>();
  /** Sorted so that the last one is due first. */
  #later: LaterBacklog[] = [];
  /** Backlogs named while a walk runs: their messages may be newer than what the walk sees. */
  #hintedInWalk: Backlog[] | null = null;
  #walkAt = -Infinity;
  #walkMs = 0;
  #walkedAt = -Infinity;

  constructor(client: Queryable, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  hint(names: readonly string[] | null): void {
    if (names === null) {
      // Even if walks are requested all the time, they take at most half of it.
      this.#walkAt = Math.min(this.#walkAt, this.#walkedAt + this.#walkMs);
      return;
    }
    for (const name of names) {
      const backlog = parseBacklogName(name);
      if (!backlog) continue;
      this.#hintedInWalk?.push(backlog);
      this.#add(backlog);
    }
  }

  async refresh(): Promise<void> {
    const startedAt = this.#now();
    if (startedAt < this.#walkAt) return;
    this.#walkAt = Infinity;
    this.#hintedInWalk = [];
    try {
      const found = await walk(this.#client);
      const hinted = this.#hintedInWalk;
      const now = this.#now();
      this.#due = new Map();
      this.#later = found
        .filter(({ waitMs }) => waitMs > 0)
        .map(({ waitMs, ...backlog }) => ({ ...backlog, dueAt: now + waitMs }))
        .sort((one, other) => other.dueAt - one.dueAt);
      for (const backlog of [...found.filter(({ waitMs }) => waitMs <= 0), ...hinted]) this.#add(backlog);
      this.#walkMs = now - startedAt;
      this.#walkedAt = now;
      const nextAt = now + Math.max(WALK_INTERVAL_MS, this.#walkMs / MAX_WALK_SHARE);
      this.#walkAt = Math.min(this.#walkAt, nextAt);
    } catch (error) {
      this.#walkAt = startedAt;
      throw error;
    } finally {
      this.#hintedInWalk = null;
    }
  }

  due(share: string): Iterable<DueBacklog> {
    const now = this.#now();
    for (let next = this.#later.at(-1); next && next.dueAt <= now; next = this.#later.at(-1)) {
      this.#later.pop();
      this.#add(next);
    }
    return this.#due.get(share)?.values() ?? [];
  }

  all(): Iterable<Backlog> {
    return [...[...this.#due.values()].flatMap((ofShare) => [...ofShare.values()]), ...this.#later];
  }

  emptied(backlog: DueBacklog): void {
    const ofShare = this.#due.get(shareName(backlog));
    // A hint or a walk since then has replaced the object.
    if (ofShare?.get(backlog.name) === backlog) ofShare.delete(backlog.name);
  }

  nextLookMs(): number | null {
    const next = this.#later.at(-1);
    return next ? Math.max(0, next.dueAt - this.#now()) : null;
  }

  #add({ channel, queue, class: priority, accountId, providerId }: Backlog): void {
    const backlog = { channel, queue, class: priority, accountId, providerId };
    const share = shareName(backlog);
    const name = backlogName(backlog);
    const ofShare = this.#due.get(share) ?? new Map<string, DueBacklog>();
    this.#due.set(share, ofShare.set(name, { ...backlog, name }));
  }
}

/** @param now returns milliseconds of a monotonic clock */
export function createBacklogs(client: Queryable, now: () => number = () => performance.now()): Backlogs {
  return new KnownBacklogs(client, now);
}

export interface WaitingCount {
  /** By the name of their class, and `scheduled` for those that wait for their time. */
  counts: Record<string, number>;
  /** When the first of the scheduled messages is to be sent. */
  nextScheduledAt: Date | null;
}

/** SQL: the first messages of the backlog `b` that are due, or that are not. */
const messagesSql = (isDue: string, most: number) => `
  select s.due_at, s.queued_at > now() as scheduled from send_queue s
  where s.owner is null and s.channel = b.channel and s.class = b.class and s.account_id = b.account_id
    and s.provider_id = b.provider_id and s.due_at ${isDue} now()
  order by s.due_at limit ${most}`;

/**
 * Counts the messages that wait: at most 100,000 that are claimed or due, of which none is scheduled; as many in each
 * backlog that are not due, and 300,000 of those in all; and those in at most 10,000 open blocks of active campaigns. This
 * is enough for an operator, and cheap for the database.
 */
export async function countWaiting(client: Queryable): Promise<WaitingCount> {
  const { rows } = await client.query<{ class: number | null; count: number; next_at: Date | null }>(
    `${firstDueSql}
     select class, sum(size)::int as count, (
       select min(q.due_at) from backlog b cross join lateral (
         select s.due_at from (${messagesSql('>', 10_000)}) s where s.scheduled limit 1) q
       where b.class = ${messageClasses.transactional}) as next_at
     from (
       (select class, 1 as size from send_queue where owner is not null
        union all
        select b.class, 1 from backlog b cross join lateral (${messagesSql('<=', 100_000)}) q
        limit 100000)
       union all
       (select case when not q.scheduled then b.class end, 1
        from backlog b cross join lateral (${messagesSql('>', 100_000)}) q limit 300000)
       union all
       (select ${messageClasses.campaign}, b.size from campaigns c cross join lateral (
          select size from campaign_blocks where campaign_id = c.id and closed_at is null order by n limit 10000) b
        where c.status = 'active' and c.phase in ('snapshot', 'sending') limit 10000)) waiting
     group by class`,
  );
  const names = new Map<number, string>(Object.entries(messageClasses).map(([name, n]) => [n, name]));
  const nameOf = (priority: number | null) =>
    priority === null ? 'scheduled' : (names.get(priority) ?? String(priority));
  return {
    counts: Object.fromEntries(rows.map((row) => [nameOf(row.class), row.count])),
    nextScheduledAt: rows.find((row) => row.class === null)?.next_at ?? null,
  };
}
