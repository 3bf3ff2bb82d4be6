import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import { queueChannels } from '../../delivery/terms/channels/queue-channel.ts';
import { messageClasses } from '../../delivery/terms/message.ts';
import { type AppError, tooMany } from '../../errors.ts';
import { onClient, type Queryable } from '../../platform/db/queryable.ts';
import { withLimit } from '../../platform/db/statement-limit.ts';
import type { MessageDraft } from './draft.ts';

/**
 * What the transactional messages of an account that a limit holds may take together, and those that wait for their time.
 * 0: no bound.
 */
export interface HeldBound {
  maxMessages: number;
  maxMegabytes: number;
}

/** How long a count stays valid, in ms, and for how many times as long as the statement took. */
const KNOWN_MS = 10_000;
const KNOWN_TIMES = 50;
const STATEMENT_MS = 5_000;
/** Counting begins after this many messages: most accounts send fewer in the time that a count stays valid. */
const MIN_MESSAGES = 100;
const MAX_ACCOUNTS = 10_000;
const RETRY_SECONDS = 60;
const MEGABYTE = 1024 * 1024;
/** How many messages are looked at if only their size has a bound. */
const MAX_COUNTED = 1_000_000;

/**
 * SQL: counts messages that wait for a limit, and those that wait for their time, of the first `$2` in the queue. Messages
 * that are due soon, or that are retried, are on their way. Rows are found by the index that claims use.
 */
const COUNT = `
  select count(*) filter (where is_held) as held_messages,
    coalesce(sum(bytes) filter (where is_held), 0)::bigint as held_bytes,
    count(*) filter (where is_scheduled) as scheduled_messages,
    coalesce(sum(bytes) filter (where is_scheduled), 0)::bigint as scheduled_bytes
  from unnest($3::text[]) as c (channel) cross join lateral (
    select q.content_bytes::bigint + q.file_bytes as bytes, q.queued_at > now() as is_scheduled,
      q.held or q.due_at > now() and q.queued_at <= now() and q.attempt_count = 0 as is_held
    from send_queue q
    where q.owner is null and q.channel = c.channel and q.class = ${messageClasses.transactional} and q.account_id = $1
    limit $2) waiting`;

/** What messages wait for: `held`, for a limit; `scheduled`, for their time. */
export type WaitingKind = 'held' | 'scheduled';

/** What a message would wait for: only those with a time ahead are scheduled. */
export const waitingKindOf = ({ scheduled_at: time }: Pick<MessageDraft, 'scheduled_at'>): WaitingKind =>
  time ? 'scheduled' : 'held';

/** Whether an account has as many messages of each kind as it may have. */
export type Over = Readonly<Record<WaitingKind, boolean>>;

interface Known {
  isOver: Over;
  until: number;
  /** Messages since the count. */
  messages: number;
}

/** Refuses messages of accounts that have too many held or scheduled ones. */
export interface HeldMessages {
  /**
   * The error for further messages of the account, by a count of the last seconds; null: there is room. A count that is
   * too old is renewed in the background.
   * @param kind what they would wait for
   * @param messages how many there are, by default one
   */
  refusal(accountId: number, kind: WaitingKind, messages?: number): AppError | null;
}

interface Counted {
  held_messages: number;
  held_bytes: number;
  scheduled_messages: number;
  scheduled_bytes: number;
}

const NEITHER: Over = { held: false, scheduled: false };

/** @returns whether the account has as many as it may have; null if counting takes too long */
export async function holdsTooMany(
  client: Queryable,
  accountId: number,
  { maxMessages, maxMegabytes }: HeldBound,
): Promise<Over | null> {
  const counted = await withLimit(client, STATEMENT_MS, async (trx) => {
    // While the statistics of the queue say that it is empty, a scan of the table would seem cheap.
    await trx.query('set local enable_seqscan = off');
    const { rows } = await trx.query<Counted>(COUNT, [
      accountId,
      // As many of each kind as there may be.
      maxMessages > 0 ? 2 * maxMessages + 1 : MAX_COUNTED,
      queueChannels,
    ]);
    return rows[0] ?? null;
  });
  if (!counted) return null;
  const reaches = (used: number, max: number) => max > 0 && used >= max;
  const isOver = (messages: number, bytes: number) =>
    reaches(messages, maxMessages) || reaches(bytes, maxMegabytes * MEGABYTE);
  return {
    held: isOver(counted.held_messages, counted.held_bytes),
    scheduled: isOver(counted.scheduled_messages, counted.scheduled_bytes),
  };
}

const advice: Record<WaitingKind, string> = {
  held: 'see what holds them in /delivery/status',
  scheduled: 'wait until some are sent, or cancel some',
};

export function createHeldMessages(pool: pg.Pool, bound: HeldBound): HeldMessages {
  const { maxMessages, maxMegabytes } = bound;
  const known = new LRUCache<number, Known>({ max: MAX_ACCOUNTS });
  const reading = new Set<number>();
  const isBounded = maxMessages + maxMegabytes > 0;
  const bounds = [
    ...(maxMessages > 0 ? [`${maxMessages} messages`] : []),
    ...(maxMegabytes > 0 ? [`${maxMegabytes} MB of messages`] : []),
  ].join(' and ');
  const minMessages = Math.min(MIN_MESSAGES, maxMessages || MIN_MESSAGES);

  async function read(accountId: number): Promise<void> {
    const began = performance.now();
    let isOver = known.get(accountId)?.isOver ?? NEITHER;
    try {
      isOver = (await onClient(pool, (client) => holdsTooMany(client, accountId, bound))) ?? isOver;
    } finally {
      const now = performance.now();
      const until = now + Math.max(KNOWN_MS, KNOWN_TIMES * (now - began));
      known.set(accountId, { isOver, until, messages: 0 });
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
    refusal(accountId, kind, messages = 1) {
      if (!isBounded) return null;
      const found = known.get(accountId) ?? { isOver: NEITHER, until: 0, messages: 0 };
      known.set(accountId, found);
      found.messages += messages;
      const { held, scheduled } = found.isOver;
      const isDue = performance.now() >= found.until && (held || scheduled || found.messages >= minMessages);
      if (isDue && !reading.has(accountId)) renew(accountId);
      if (!found.isOver[kind]) return null;
      return tooMany(`the account may have ${bounds} ${kind}; ${advice[kind]}`, RETRY_SECONDS);
    },
  };
}
