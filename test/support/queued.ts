import type { Database } from '../../src/platform/db/database.ts';

export interface QueuedAccount {
  accountId: number;
  brandId: number;
}

/** A trusted account with a brand, as bare rows. */
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

/** A sender that owns what it claims, as a bare row: it holds no lock, so whoever reaps takes it for dead. */
export async function insertSender(database: Database, id: number): Promise<void> {
  await database.pool.query(
    `insert into processes (id, role, host, pid) overriding system value values ($1, 'sender', 'x', 1)`,
    [id],
  );
}

/** Emails that wait, to `<prefix>0@example.com` and on, as POST /messages leaves them. */
export async function queueEmails(
  database: Database,
  { accountId, brandId }: QueuedAccount,
  count: number,
  options: { prefix?: string; class?: number; queuedHoursAgo?: number } = {},
): Promise<number[]> {
  const { rows } = await database.pool.query<{ id: number }>(
    `with m as (
       insert into messages (account_id, brand_id, channel, class, status, to_address, to_key, from_address, subject, created_at)
       select $1::bigint, $2::bigint, 'email', $5::smallint, 'queued', $4::text || n || '@example.com', $4::text || n || '@example.com',
         'sandbox-' || $1::bigint || '@mail.test', 'Hello ' || n, now() - make_interval(hours => $6)
       from generate_series(0, $3::int - 1) n returning id, created_at
     ), c as (
       insert into message_contents (message_id, html, text) select id, '<p>Hi ' || id || '</p>', 'Hi ' || id from m
     ), q as (
       insert into send_queue (message_id, account_id, channel, class, due_at, queued_at)
       select id, $1::bigint, 'email', $5::smallint, now(), created_at from m
     ) select id from m order by id`,
    [accountId, brandId, count, options.prefix ?? 'u', options.class ?? 0, options.queuedHoursAgo ?? 0],
  );
  return rows.map((row) => row.id);
}

/** How many messages are in each state. */
export async function statusCounts(database: Database, accountId?: number): Promise<Record<string, number>> {
  const { rows } = await database.pool.query<{ status: string; count: number }>(
    'select status, count(*) from messages where $1::bigint is null or account_id = $1 group by status',
    [accountId ?? null],
  );
  return Object.fromEntries(rows.map((row) => [row.status, row.count]));
}
