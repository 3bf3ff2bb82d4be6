import type pg from 'pg';
import {
  currentRange,
  makeRangesAhead,
  RANGE_IDS,
  type RangedTable,
  rangedPartitions,
} from '../../../platform/db/id-ranges.ts';
import { dropPartition, inMakerTransaction } from '../../../platform/db/partition-changes.ts';
import { onClient, type Queryable } from '../../../platform/db/queryable.ts';
import { daysBefore, type HousekeepingTask } from '../../../platform/housekeeping/task.ts';
import { type IdSpan, isUncounted, recountSpan } from '../blocks/tallies.ts';
import { MESSAGE_ID_SEQUENCE } from '../accept/write-messages.ts';

/** How many days a range is in use. Retention drops whole partitions, so contents are kept up to this much longer. */
const RANGE_DAYS = 7;
/** Number of ranges per partition of `messages`. More partitions would slow down every update by a joined id. */
const RANGES_OF_MESSAGES = 8;
/** Longest time between taking an id from the sequence and the commit of its message. */
const LATE_MS = 3_600_000;

/** The table that names the stored files of messages. */
const ATTACHMENTS = 'message_attachments';
const FILES_AT_ONCE = 1_000;

const messages: RangedTable = {
  name: 'messages',
  sequence: MESSAGE_ID_SEQUENCE,
  ranges: RANGES_OF_MESSAGES,
  ahead: 1,
  storage: 'with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05)',
};

const messageEvents: RangedTable = {
  name: 'message_events',
  sequence: MESSAGE_ID_SEQUENCE,
  ranges: RANGES_OF_MESSAGES,
  ahead: 1,
};

/** First opens and clicks. */
const messageInteractions: RangedTable = {
  name: 'message_interactions',
  sequence: MESSAGE_ID_SEQUENCE,
  ranges: RANGES_OF_MESSAGES,
  ahead: 1,
};

const messageContents: RangedTable = {
  name: 'message_contents',
  sequence: MESSAGE_ID_SEQUENCE,
  ranges: 1,
  ahead: 3,
};

/** Tables of what is removed with the contents of messages. */
const contentTables: RangedTable[] = [
  messageContents,
  ...['letters', 'letter_addresses', ATTACHMENTS].map((name) => ({ ...messageContents, name })),
];

/** The tables that grow with each message. They are partitioned by ranges of message ids. */
export const messageTables = [messages, messageEvents, messageInteractions, ...contentTables];

/** Returns the lowest id that a message may have. Retention has dropped all messages with lower ids. */
export async function firstMessageId(client: Queryable): Promise<number> {
  const spans = [...(await rangedPartitions(client, messages)).values()];
  return Math.min(...spans.map(({ first }) => first)) * RANGE_IDS;
}

/** Records that the range before `n` is closed and `n` is in use. */
async function recordOpened(client: Queryable, n: number, openedAt: Date): Promise<void> {
  await client.query('insert into message_ranges (n, opened_at) values ($1, $2) on conflict do nothing', [
    n,
    openedAt,
  ]);
  await client.query(
    'update message_ranges set closed_at = clock_timestamp() where n < $1 and closed_at is null',
    [n],
  );
}

/**
 * Moves the sequence to the next range if the current one was opened a week ago and has messages. Ids that processes
 * have already taken still go to the former range.
 * @returns whether a range was opened
 */
async function openNextRange(client: pg.PoolClient, asOf: Date): Promise<boolean> {
  let opened = false;
  await inMakerTransaction(client, async () => {
    const { rows } = await client.query<{ n: number; opened_at: Date; now: Date }>(
      `select n, opened_at, clock_timestamp() as now from message_ranges
       where closed_at is null order by n desc limit 1 for update`,
    );
    const open = rows[0];
    if (!open) return;
    const current = await currentRange(client, MESSAGE_ID_SEQUENCE);
    if (current > open.n) {
      // The range ran out of ids, or the process that moved the sequence did not commit.
      await recordOpened(client, current, open.opened_at);
      return;
    }
    const unused = (await client.query(`select 1 from ${MESSAGE_ID_SEQUENCE} where not is_called`)).rowCount;
    if (unused || open.opened_at > daysBefore(asOf, RANGE_DAYS)) return;
    await client.query('select setval($1, $2, false)', [MESSAGE_ID_SEQUENCE, (open.n + 1) * RANGE_IDS]);
    await recordOpened(client, open.n + 1, open.now);
    opened = true;
  });
  return opened;
}

/**
 * Moves the sequence to a range that was not in use before the database was restored from a backup. A range is in use
 * for a week at least, so the age of the last one in the backup says how many may have been opened since.
 * @returns the range of the backup, and the new one
 */
export async function skipUsedRanges(client: pg.PoolClient): Promise<{ from: number; to: number }> {
  const span = { from: 0, to: 0 };
  await inMakerTransaction(client, async () => {
    const { rows } = await client.query<{ n: number; weeks: number; now: Date }>(
      `select n, greatest(floor(extract(epoch from clock_timestamp() - opened_at) / (86400 * $1)), 0)::int as weeks,
         clock_timestamp() as now
       from message_ranges order by n desc limit 1 for update`,
      [RANGE_DAYS],
    );
    const last = rows[0];
    span.from = Math.max(await currentRange(client, MESSAGE_ID_SEQUENCE), last?.n ?? 0);
    span.to = span.from + (last?.weeks ?? 0) + 1;
    await client.query('select setval($1, $2, false)', [MESSAGE_ID_SEQUENCE, span.to * RANGE_IDS]);
    await recordOpened(client, span.to, last?.now ?? new Date());
  });
  for (const table of messageTables) await makeRangesAhead(client, table);
  return span;
}

/** Whether messages of the ranges are queued, lie in an open block of a campaign, or are covered by an open intent. */
async function isQueued(client: Queryable, { first, end }: IdSpan): Promise<boolean> {
  const { rows } = await client.query<{ queued: boolean }>(
    `select exists (select 1 from send_queue where message_id >= $1 and message_id < $2)
       or exists (select 1 from handovers h cross join unnest(h.message_ids) as i (id)
                  where i.id >= $1 and i.id < $2)
       or exists (select 1 from campaign_blocks where closed_at is null and last_id >= $1 and first_id < $2) as queued`,
    [first, end],
  );
  return rows[0]?.queued ?? true;
}

/**
 * What dropping partitions needs: a pool to count campaigns' messages before a partition is dropped, and a progress
 * report.
 */
interface Dropping {
  pool: pg.Pool;
  progress: () => void;
}

/**
 * Has the files that the messages of a partition name looked at in an hour, when the partition is gone: what nothing else
 * names is removed then, even if the contents were to be kept for longer when it was stored.
 */
async function lookAtFiles(client: Queryable, partition: string, progress: () => void): Promise<void> {
  let after: [accountId: number, sha256: Buffer] = [0, Buffer.alloc(0)];
  for (;;) {
    const { rows } = await client.query<{ account_id: number; sha256: Buffer }>(
      `with named as materialized (
         select distinct account_id, sha256 from ${partition}
         where stored and (account_id, sha256) > ($1, $2) order by 1, 2 limit $3
       ), found as materialized (
         select f.account_id, f.sha256 from attachment_files f
         where (f.account_id, f.sha256) in (select * from named) and f.kept_until > now() + interval '1 hour'
         order by f.account_id, f.sha256 for no key update
       ), due as (
         update attachment_files f set kept_until = now() + interval '1 hour' from found
         where f.account_id = found.account_id and f.sha256 = found.sha256
       )
       select * from named order by 1, 2`,
      [...after, FILES_AT_ONCE],
    );
    progress();
    const last = rows.at(-1);
    if (!last || rows.length < FILES_AT_ONCE) return;
    after = [last.account_id, last.sha256];
  }
}

/**
 * Drops partitions whose ranges were all closed before `before`, unless one of their messages is queued. Before that,
 * it updates the tallies of campaigns with messages in the partition.
 */
async function dropClosed(
  client: pg.PoolClient,
  table: RangedTable,
  before: Date,
  { pool, progress }: Dropping,
): Promise<number> {
  const { rows } = await client.query<{ kept: number }>(
    `select min(n) as kept from message_ranges where closed_at is null or closed_at > $1`,
    [new Date(before.getTime() - LATE_MS)],
  );
  const firstKept = rows[0]?.kept ?? 0;
  let dropped = 0;
  for (const [name, span] of await rangedPartitions(client, table)) {
    if (span.end > firstKept) continue;
    const ids = { first: span.first * RANGE_IDS, end: span.end * RANGE_IDS };
    if (table === messages) await recountSpan(pool, progress, ids);
    const queued = async () =>
      (await isQueued(client, ids)) || (table === messages && (await isUncounted(client, ids)));
    // This is checked before anything is locked, so that no query waits for a partition that stays.
    if (await queued()) continue;
    if (table.name === ATTACHMENTS) await lookAtFiles(client, name, progress);
    if (await dropPartition(client, table.name, name, queued)) dropped += 1;
  }
  return dropped;
}

/**
 * Opens a range of message ids each week, makes the partitions ahead of it, and drops the partitions that are older
 * than the retention. Returns the number of changes.
 */
export const messageRanges: HousekeepingTask = {
  name: 'message_ranges',
  async run({ database: { pool }, config }, asOf, progress) {
    const messageDays = config.MESSAGE_RETENTION_DAYS;
    const contentDays = Math.min(messageDays, config.MESSAGE_CONTENT_RETENTION_DAYS);
    return onClient(pool, async (client) => {
      let changes = 0;
      // This runs before the range is opened, so that its partitions exist, and again below, for those of the next
      // range.
      for (const table of messageTables) changes += (await makeRangesAhead(client, table)).length;
      if (await openNextRange(client, asOf)) changes += 1;
      for (const table of messageTables) {
        changes += (await makeRangesAhead(client, table)).length;
        const keptDays = contentTables.includes(table) ? contentDays : messageDays;
        changes += await dropClosed(client, table, daysBefore(asOf, keptDays), { pool, progress });
        progress();
      }
      return changes;
    });
  },
};
