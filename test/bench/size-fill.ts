import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { upkeep } from '../../src/features/upkeep.ts';
import { RANGE_IDS } from '../../src/platform/db/id-ranges.ts';
import { keepPartitionsOf } from '../../src/platform/db/partitions.ts';
import type { Stage } from './stage.ts';

export interface Filling {
  messages: number;
  accounts: number;
  queued: number;
  queuedAccounts: number;
  contentShare: number;
}

/** Number of weeks in the year. Each week is a range of ids. */
const WEEKS = 52;
/** One in this many messages belongs to the account whose lists are measured. */
const OWN_SHARE = 20;
const BYTES_PER_MESSAGE = 1_500;
const ROWS_AT_ONCE = 500_000;
/** After gigabytes were written at once, a virtual machine's disk may be slow for a while. */
const DISK_REST_MS = 60_000;

function progress(text: string): void {
  process.stderr.write(`${new Date().toISOString()} ${text}\n`);
}

/** @throws Error if the temporary folder has too little space */
async function requireSpace(filling: Filling): Promise<void> {
  const { bavail, bsize } = await statfs(tmpdir());
  const needed = (filling.messages + filling.queued) * BYTES_PER_MESSAGE + 5e9;
  const free = bavail * bsize;
  progress(`needs ${(needed / 1e9).toFixed(0)} GB in ${tmpdir()}; ${(free / 1e9).toFixed(0)} GB are free`);
  if (free < needed) throw new Error('too little space: set TMPDIR, or --messages to a lower number');
}

/** A separate connection without a time-out, which commits without waiting for the disk. */
async function fillBy(stage: Stage, work: (query: Query) => Promise<void>): Promise<void> {
  const client = await stage.database.pool.connect();
  try {
    await client.query('set statement_timeout = 0');
    await client.query('set synchronous_commit = off');
    await work((text, values = []) => client.query(text, values));
  } finally {
    client.release(true);
  }
}

type Query = (text: string, values?: unknown[]) => Promise<unknown>;

/** Accounts 1,000,001 and so on. Each has a brand with the same id. */
const FIRST_ACCOUNT = 1_000_001;

async function insertAccounts(query: Query, count: number): Promise<void> {
  await query(
    `with a as (
       insert into accounts (id, name, tier) select id, 'Account ' || id, 'trusted'
       from generate_series($1::bigint, $1 + $2 - 1) id returning id),
     c as (insert into account_counters (account_id) select id from a)
     insert into brands (id, account_id) select id, id from a`,
    [FIRST_ACCOUNT, count],
  );
}

const SELECT_ACCOUNT = `case when n % ${OWN_SHARE} = 0 then $3::bigint else ${FIRST_ACCOUNT} + (n::bigint * 7919) % $5 end`;
const SELECT_BRAND = `case when n % ${OWN_SHARE} = 0 then $4::bigint else ${FIRST_ACCOUNT} + (n::bigint * 7919) % $5 end`;
/** One message in a hundred bounced, one in 20,000 failed. */
const SELECT_STATUS = `case when n % 20000 = 11 then 'failed' when n % 100 = 7 then 'bounced' else 'sent' end`;

/** Inserts the messages of a week, from `from` to before `to`, evenly spread. */
async function insertSent(
  query: Query,
  stage: Stage,
  filling: Filling,
  week: number,
  span: [number, number],
) {
  const perWeek = filling.messages / WEEKS;
  await query(
    `insert into messages (id, account_id, brand_id, channel, status, to_address, to_key, from_address, subject,
       idempotency_key, provider, created_at, updated_at, sent_at, attempt_count, sent_attempt, response)
     select $6::bigint + n + 1, ${SELECT_ACCOUNT}, ${SELECT_BRAND},
       case when n % 5000 = 3 then 'sms' else 'email' end, ${SELECT_STATUS},
       'recipient' || n % 100000 || '@example.com', 'recipient' || n % 100000 || '@example.com',
       'Sender <sender@mail.bench.test>', 'Your receipt ' || n, 'week-' || $7::int || '-' || n, 'smtp', at, at, at, 1, 1,
       '250 2.0.0 Ok'
     from (
       select n, now() - ($8 - n / $9::float8) * interval '7 days' as at from generate_series($1::int, $2 - 1) n) m`,
    [
      ...span,
      stage.accountId,
      stage.brandId,
      filling.accounts,
      week * RANGE_IDS,
      week,
      WEEKS - week,
      perWeek,
    ],
  );
}

/**
 * Writes the contents of the last messages, the events of those that were not sent at once, and the keys of the last
 * week.
 */
async function insertParts(query: Query, filling: Filling, week: number): Promise<void> {
  const bounds = [week * RANGE_IDS, (week + 1) * RANGE_IDS];
  if (week >= WEEKS * (1 - filling.contentShare)) {
    await query(
      `insert into message_contents (message_id, html, text, created_at)
       select id, repeat('<p>Thank you for your order.</p>', 16), repeat('Thank you. ', 40), created_at
       from messages where id >= $1 and id < $2`,
      bounds,
    );
  }
  await query(
    `insert into message_events (message_id, attempt, type, occurred_at)
     select id, 1, status, created_at from messages where id >= $1 and id < $2 and status <> 'sent'`,
    bounds,
  );
  if (week === WEEKS - 1) {
    await query(
      `insert into idempotency_keys (brand_id, endpoint, key, fingerprint, status, resource_id, created_at)
       select brand_id, 'POST /v1/my/messages', idempotency_key, '\\x00', 201, id, created_at
       from messages where id >= $1 and id < $2`,
      bounds,
    );
  }
}

async function insertWeek(query: Query, stage: Stage, filling: Filling, week: number): Promise<void> {
  await query(`select setval('messages_id_seq', $1, false)`, [week * RANGE_IDS + 1]);
  await keepPartitionsOf(stage.database.pool, upkeep.partitions);
  await query(
    `insert into message_ranges (n, opened_at, closed_at)
     values ($1, now() - $2 * interval '7 days', now() - ($2 - 1) * interval '7 days')
     on conflict (n) do update set opened_at = excluded.opened_at, closed_at = excluded.closed_at`,
    [week, WEEKS - week],
  );
  const count = Math.floor(filling.messages / WEEKS);
  for (let from = 0; from < count; from += ROWS_AT_ONCE) {
    await insertSent(query, stage, filling, week, [from, Math.min(count, from + ROWS_AT_ONCE)]);
  }
  await insertParts(query, filling, week);
  progress(`week ${week + 1} of ${WEEKS}`);
}

/** Queues messages of the first accounts, due now. */
export async function queueMessages(stage: Stage, count: number, accounts: number): Promise<void> {
  await fillBy(stage, async (query) => {
    for (let from = 0; from < count; from += ROWS_AT_ONCE) {
      await query(
        `with m as (
           insert into messages (account_id, brand_id, channel, status, to_address, to_key, from_address, subject)
           select ${FIRST_ACCOUNT} + n % $3, ${FIRST_ACCOUNT} + n % $3, 'email', 'queued',
             'queued' || n || '@example.com', 'queued' || n || '@example.com', 'Sender <sender@mail.bench.test>', 'Hello'
           from generate_series($1::int, $2 - 1) n returning id, account_id),
         c as (insert into message_contents (message_id, html, text)
           select id, '<p>Thank you for your order.</p>', 'Thank you for your order.' from m)
         insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, content_bytes)
         select id, account_id, 'email', 0, now(), now(), 60 from m`,
        [from, Math.min(count, from + ROWS_AT_ONCE), accounts],
      );
    }
    await query('vacuum analyze send_queue');
    await query('checkpoint');
  });
}

/** Inserts the accounts. Both databases have them, so that they differ only in messages. */
export function fillAccounts(stage: Stage, count: number): Promise<void> {
  return fillBy(stage, (query) => insertAccounts(query, count));
}

/** Fills a year of messages, week by week, as if housekeeping had opened a range of ids in each. */
export async function fillMessages(stage: Stage, filling: Filling): Promise<void> {
  await requireSpace(filling);
  await fillBy(stage, async (query) => {
    for (let week = 0; week < WEEKS; week++) await insertWeek(query, stage, filling, week);
    await query(`select setval('messages_id_seq', $1, false)`, [WEEKS * RANGE_IDS]);
    await query('insert into message_ranges (n) values ($1)', [WEEKS]);
    progress('counts of days');
    await query(
      `insert into message_daily_counts (brand_id, day, last_id, count)
       select brand_id, (created_at at time zone 'UTC')::date, max(id), count(*) from messages
       where created_at < date_trunc('day', now(), 'UTC') group by 1, 2`,
    );
    progress('vacuum and analyze');
    await query('vacuum analyze');
    await query('checkpoint');
  });
  progress('waiting for the disk');
  await sleep(DISK_REST_MS);
  await keepPartitionsOf(stage.database.pool, upkeep.partitions);
  progress('filled');
}
