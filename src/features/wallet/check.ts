import type { HousekeepingTask } from '../../platform/housekeeping/task.ts';

/** The hour of the check (UTC). */
const CHECK_HOUR = 4;
/** Maximum number of mismatches stored and logged. */
const MAX_KEPT = 1_000;

/**
 * SQL: amounts that should be equal but are not. It is one statement, so that everything is read at one moment.
 * - `wallet_sum`: the sum of a wallet and its entries
 * - `month_posted`: a posted month and its usage entry
 * - `reserved`: what open queue rows and blocks have reserved in all months, and what the months have spent. The latter
 * must be at least as much, because sent messages have no rows any more. A return after a month was posted counts in a
 * later month, so only the sums can be compared.
 * - `validation_reserved`: what a validation still has reserved although it has ended
 */
const MISMATCHES = `
  with sums as (
    select account_id, sum(millicents) as total from wallet_entries group by account_id
  ), usage as (
    select account_id, month, -sum(millicents) as spent from wallet_entries where kind = 'usage' group by 1, 2
  ), reserved as (
    select account_id, sum(millicents) as millicents from (
      select account_id, price_millicents as millicents from send_queue where price_month is not null
      union all
      select account_id, price_millicents from campaign_blocks
      where price_month is not null and closed_at is null) open
    group by account_id
  ), spent as (
    select account_id, sum(spent_millicents) as millicents from account_months group by account_id
  )
  select account_id, 'wallet_sum' as problem, null::date as month,
    coalesce(total, 0)::bigint as expected, coalesce(entries_millicents, 0) as found
  from sums full join wallets using (account_id) where coalesce(total, 0) <> coalesce(entries_millicents, 0)
  union all
  select account_id, 'month_posted', month,
    case when m.posted_at is null then 0 else coalesce(m.spent_millicents, 0) end, coalesce(u.spent, 0)::bigint
  from account_months m full join usage u using (account_id, month)
  where case when m.posted_at is null then 0 else coalesce(m.spent_millicents, 0) end <> coalesce(u.spent, 0)
  union all
  select account_id, 'reserved', null, r.millicents::bigint, coalesce(s.millicents, 0)::bigint
  from reserved r left join spent s using (account_id) where r.millicents > coalesce(s.millicents, 0)
  union all
  select account_id, 'validation_reserved', price_month, 0, sum(reserved_millicents)::bigint
  from validation_operations where reserved_millicents > 0 and status not in ('pending', 'running') group by 1, 3`;

interface Mismatch {
  account_id: number;
  problem: string;
  month: string | null;
  expected: number;
  found: number;
}

/**
 * Recomputes wallets, months and reservations once a night. Mismatches are logged and counted in `/metrics` until the
 * next check; nothing corrects them.
 */
export const checkMoney: HousekeepingTask = {
  name: 'money_check',
  async run({ database: { pool }, log }, asOf) {
    if (asOf.getUTCHours() !== CHECK_HOUR) return 0;
    const { rows } = await pool.query<Mismatch>(
      `with found as materialized (${MISMATCHES}), forgotten as (delete from money_mismatches),
         kept as (
           insert into money_mismatches (account_id, problem, month, expected, found, found_at)
           select account_id, problem, month, expected, found, $1 from found limit ${MAX_KEPT}
           returning account_id, problem, month::text as month, expected, found)
       select * from kept order by account_id, problem, month`,
      [asOf],
    );
    for (const row of rows) log.error(row, 'money does not agree');
    return rows.length;
  },
};
