import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import { queueChannels } from '../../delivery/terms/channels/queue-channel.ts';
import { messageClasses } from '../../delivery/terms/message.ts';
import { type AppError, tooMany } from '../../errors.ts';
import { onClient, type Queryable } from '../../platform/db/queryable.ts';
import { withLimit } from '../../platform/db/statement-limit.ts';

/** What the transactional messages of an account that a limit holds may take together. 0: no bound. */
export interface HeldBound {
  maxMessages: number;
  maxMegabytes: number;
}

/** How long a count stays valid, in ms, and for how many times as long as the statement took. */
const KNOWN_MS = 10_000;
const KNOWN_TIMES = 50;
const STATEMENT_MS = 5_000;
/** Counting begins after this many requests: most accounts send fewer in the time that a count stays valid. */
const MIN_REQUESTS = 100;
const MAX_ACCOUNTS = 10_000;
const RETRY_SECONDS = 60;
const MEGABYTE = 1024 * 1024;
/** How many messages are looked at if only their size has a bound. */
const MAX_COUNTED = 1_000_000;

/**
 * SQL: counts messages that wait for a limit, of the first `$2` in the queue. Messages that are due soon, or that are
 * retried, are on their way. Rows are found by the index that claims use.
 */
const COUNT = `
  select count(*) filter (where is_held) as messages,
    coalesce(sum(bytes) filter (where is_held), 0)::bigint as bytes
  from unnest($3::text[]) as c (channel) cross join lateral (
    select q.content_bytes::bigint + q.file_bytes as bytes, q.held or q.due_at > now() and q.attempt_count = 0 as is_held
    from send_queue q
    where q.owner is null and q.channel = c.channel and q.class = ${messageClasses.transactional} and q.account_id = $1
    limit $2) waiting`;

interface Known {
  isOver: boolean;
  until: number;
  /** Requests since the count. */
  requests: number;
}

/** Refuses messages of accounts that have too many held ones. */
export interface HeldMessages {
  /**
   * The error for another message of the account, by a count of the last seconds; null: there is room. A count that is
   * too old is renewed in the background.
   */
  refusal(accountId: number): AppError | null;
}

/** @returns whether the account has as many held messages as it may have; null if counting takes too long */
export async function holdsTooMany(
  client: Queryable,
  accountId: number,
  { maxMessages, maxMegabytes }: HeldBound,
): Promise<boolean | null> {
  const counted = await withLimit(client, STATEMENT_MS, async (trx) => {
    // While the statistics of the queue say that it is empty, a scan of the table would seem cheap.
    await trx.query('set local enable_seqscan = off');
    const { rows } = await trx.query<{ messages: number; bytes: number }>(COUNT, [
      accountId,
      maxMessages > 0 ? maxMessages + 1 : MAX_COUNTED,
      queueChannels,
    ]);
    return rows[0] ?? null;
  });
  if (!counted) return null;
  const isOver = (used: number, max: number) => max > 0 && used >= max;
  return isOver(counted.messages, maxMessages) || isOver(counted.bytes, maxMegabytes * MEGABYTE);
}

export function createHeldMessages(pool: pg.Pool, bound: HeldBound): HeldMessages {
  const { maxMessages, maxMegabytes } = bound;
  const known = new LRUCache<number, Known>({ max: MAX_ACCOUNTS });
  const reading = new Set<number>();
  const isBounded = maxMessages + maxMegabytes > 0;
  const bounds = [
    ...(maxMessages > 0 ? [`${maxMessages} messages`] : []),
    ...(maxMegabytes > 0 ? [`${maxMegabytes} MB of messages`] : []),
  ].join(' and ');
  const minRequests = Math.min(MIN_REQUESTS, maxMessages || MIN_REQUESTS);

  async function read(accountId: number): Promise<void> {
    const began = performance.now();
    let isOver = known.get(accountId)?.isOver ?? false;
    try {
      isOver = (await onClient(pool, (client) => holdsTooMany(client, accountId, bound))) ?? isOver;
    } finally {
      const now = performance.now();
      const until = now + Math.max(KNOWN_MS, KNOWN_TIMES * (now - began));
      known.set(accountId, { isOver, until, requests: 0 });
    }
  }

  function renew(accountId: number): void {
    reading.add(accountId);
    void read(accountId)
      // The request itself reports that the database is unavailable.
      .catch(() => undefined)
      .finally(() => reading.delete(accountId));
  }

  return {
    refusal(accountId) {
      if (!isBounded) return null;
      const found = known.get(accountId) ?? { isOver: false, until: 0, requests: 0 };
      known.set(accountId, found);
      found.requests += 1;
      const isDue = performance.now() >= found.until && (found.isOver || found.requests >= minRequests);
      if (isDue && !reading.has(accountId)) renew(accountId);
      if (!found.isOver) return null;
      return tooMany(
        `the account may have ${bounds} held; see what holds them in /delivery/status`,
        RETRY_SECONDS,
      );
    },
  };
}
