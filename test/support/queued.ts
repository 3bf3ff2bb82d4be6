import { messageClasses } from '../../src/delivery/terms/message.ts';
import type { MessageSource } from '../../src/delivery/ledger/accept/new-message.ts';
import { allocateMessageIds, writeMessages } from '../../src/delivery/ledger/accept/write-messages.ts';
import type { Database } from '../../src/platform/db/database.ts';
import type { Queryable } from '../../src/platform/db/queryable.ts';

const WRITTEN_AT_ONCE = 5_000;

export interface QueuedAccount {
  accountId: number;
  brandId: number;
}

/** Inserts a trusted account with a brand. */
export async function insertAccount(database: Database, allowancePerDay?: number): Promise<QueuedAccount> {
  const { rows } = await database.pool.query<{ account_id: number; brand_id: number }>(
    `with a as (insert into accounts (name, tier, allowance_per_day) values ('Acme', 'trusted', $1) returning id),
     c as (insert into account_counters (account_id) select id from a)
     insert into brands (account_id) select id from a returning account_id, id as brand_id`,
    [allowancePerDay ?? null],
  );
  const row = rows[0];
  return { accountId: row?.account_id ?? 0, brandId: row?.brand_id ?? 0 };
}

/**
 * Inserts a sender's process row, so that it can own claims. The process is dead: it has no lock, and its last
 * heartbeat is long ago.
 */
export async function insertSender(database: Database, id: number): Promise<void> {
  await database.pool.query(
    `insert into processes (id, role, host, pid, seen_at, checks_claims) overriding system value
     values ($1, 'sender', 'x', 1, now() - interval '1 minute', true)`,
    [id],
  );
}

interface QueueOptions {
  /** An SMS has one segment. */
  channel?: 'email' | 'sms';
  /** The prefix of the recipients' addresses: `<prefix>0@example.com` and so on. */
  prefix?: string;
  source?: MessageSource;
  queuedHoursAgo?: number;
  /** The named provider; by default the account's first, or that of the settings. */
  providerId?: number;
  /** Of the nth message. */
  text?: (n: number) => string;
}

/** Notifies the senders of a database, like a process does after changing its queue. */
export async function wakeSenders({ pool }: Pick<Database, 'pool'>): Promise<void> {
  await pool.query('notify carillon_send');
}

/** Makes all messages due, and notifies the senders. */
export async function makeAllDue(database: Pick<Database, 'pool'>): Promise<void> {
  await database.pool.query('update send_queue set due_at = now()');
  await wakeSenders(database);
}

/**
 * Queues emails like POST /messages does, but without limits.
 * @returns their ids
 */
export async function queueEmails(
  database: Database,
  { accountId, brandId }: QueuedAccount,
  count: number,
  {
    channel = 'email',
    prefix = 'u',
    source = { class: messageClasses.transactional },
    queuedHoursAgo,
    providerId,
    text,
  }: QueueOptions = {},
): Promise<number[]> {
  const { pool } = database;
  const ids = await allocateMessageIds(pool, count);
  const messages = ids.map((id, n) => ({
    id,
    account_id: accountId,
    brand_id: brandId,
    channel,
    segments: channel === 'sms' ? 1 : undefined,
    status: 'queued' as const,
    test: false,
    to_address: `${prefix}${n}@example.com`,
    to_key: `${prefix}${n}@example.com`,
    from_address: `sandbox-${accountId}@mail.test`,
    subject: `Hello ${n}`,
    provider_id: providerId,
    html: `<p>Hi ${id}</p>`,
    text: text?.(n) ?? `Hi ${id}`,
  }));
  for (let written = 0; written < count; written += WRITTEN_AT_ONCE) {
    await writeMessages(pool, messages.slice(written, written + WRITTEN_AT_ONCE), {
      source,
    });
  }
  if (queuedHoursAgo !== undefined) await age(pool, ids, queuedHoursAgo);
  await wakeSenders(database);
  return ids;
}

async function age(pool: Queryable, ids: number[], hours: number): Promise<void> {
  await pool.query(
    `with m as (
       update messages set created_at = now() - make_interval(hours => $2) where id = any($1) returning id, created_at
     ) update send_queue set queued_at = created_at from m where message_id = id`,
    [ids, hours],
  );
}

/** Counts the messages by state. */
export async function statusCounts(database: Database, accountId?: number): Promise<Record<string, number>> {
  const { rows } = await database.pool.query<{ status: string; count: number }>(
    'select status, count(*) from messages where $1::bigint is null or account_id = $1 group by status',
    [accountId ?? null],
  );
  return Object.fromEntries(rows.map((row) => [row.status, row.count]));
}
