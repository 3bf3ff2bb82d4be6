/** Prices, funds, and the reservations of messages. */
import type { Database } from '../../src/platform/db/database.ts';
import type { QueuedAccount } from './queued.ts';

type Pool = Pick<Database, 'pool'>;

/** Sets the price of emails, or of SMS to a country, in millicents. */
export async function setPrice(
  { pool }: Pool,
  millicents: number,
  { tier = 'trusted', country = null }: { tier?: string; country?: string | null } = {},
): Promise<void> {
  await pool.query(
    `insert into prices (tier, kind, country, millicents) values ($1, $2, $3, $4)
     on conflict (tier, kind, country) do update set millicents = excluded.millicents`,
    [tier, country === null ? 'email' : 'sms', country, millicents],
  );
}

/**
 * Inserts a paying account with a brand.
 * @param money in millicents, except the cap
 */
export async function insertPayer(
  { pool }: Pool,
  { funds = 0, free = 0, capCents = null }: { funds?: number; free?: number; capCents?: number | null } = {},
): Promise<QueuedAccount> {
  const { rows } = await pool.query<{ account_id: number; brand_id: number }>(
    `with a as (
       insert into accounts (name, tier, monthly_email_allowance, spend_cap_monthly_cents, sandbox_monthly_cap)
       values ('Acme', 'trusted', $1, $2, 1000000) returning id),
     c as (insert into account_counters (account_id) select id from a)
     insert into brands (account_id) select id from a returning account_id, id as brand_id`,
    [free, capCents],
  );
  const account = { accountId: rows[0]?.account_id ?? 0, brandId: rows[0]?.brand_id ?? 0 };
  if (funds !== 0) await credit({ pool }, account, funds);
  return account;
}

let credits = 0;

/**
 * Adds an entry to the wallet.
 * @param millicents negative for a debit
 */
export async function credit(
  { pool }: Pool,
  { accountId }: Pick<QueuedAccount, 'accountId'>,
  millicents: number,
): Promise<void> {
  await pool.query(
    `insert into wallet_entries (account_id, kind, millicents, cause) values ($1, 'credit', $2, $3)`,
    [accountId, millicents, `test/${process.pid}/${++credits}`],
  );
}

interface Months {
  emails: number;
  free: number;
  texts: number;
  spent: number;
}

/** What an account has reserved in all months. */
export async function monthsOf({ pool }: Pool, { accountId }: QueuedAccount): Promise<Months> {
  const { rows } = await pool.query<Months>(
    `select coalesce(sum(email_units), 0)::int as emails, coalesce(sum(free_units), 0)::int as free,
       coalesce(sum(sms_units), 0)::int as texts, coalesce(sum(spent_millicents), 0)::int as spent
     from account_months where account_id = $1`,
    [accountId],
  );
  return rows[0] as Months;
}

/**
 * The accounts whose months differ from the sum of their open reservations and charged messages. There must never be
 * any, except for batches whose outcomes are not recorded. Only for accounts that send nothing but emails, all at one
 * price.
 */
export async function wrongMonths({ pool }: Pool, price: number): Promise<unknown[]> {
  const { rows } = await pool.query<Record<string, unknown>>(
    `select s.*, o.*, charged, unpaid from (
       select account_id, sum(email_units)::int as emails, sum(free_units)::int as free, sum(spent_millicents)::int as spent
       from account_months group by account_id) s
     cross join lateral (
       select (select coalesce(sum(price_units), 0)::int from send_queue q where q.account_id = s.account_id)
         + (select coalesce(sum(price_units), 0)::int from campaign_blocks b where b.account_id = s.account_id) as open) o
     cross join lateral (
       select count(*)::int as charged from messages m
       where m.account_id = s.account_id and not m.test and m.unsent_at is null
         and (m.sent_at is not null or m.unknown_at is not null)
         and not exists (select from send_queue q where q.message_id = m.id and q.price_units > 0)) c
     cross join lateral (
       select count(*)::int as unpaid from campaign_blocks b
       where b.account_id = s.account_id and b.closed_at is not null and (b.price_units <> 0 or b.price_month is not null)) u
     where s.emails <> o.open + c.charged or s.spent <> (s.emails - s.free) * $1::int or unpaid > 0 or s.free < 0`,
    [price],
  );
  return rows;
}
