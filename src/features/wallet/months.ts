import type { HousekeepingTask } from '../../platform/housekeeping/task.ts';

/** Maximum number of months per statement. */
const BATCH = 500;

/**
 * SQL: writes the usage entries of months that ended seven days before `$1`. It locks a month first, so that amounts
 * returned until then are in its entry. After that, the month never changes.
 */
const POST = `
  with due as materialized (
    select account_id, month, spent_millicents from account_months
    where posted_at is null
      and month <= (date_trunc('month', ($1::timestamptz at time zone 'utc') - interval '7 days') - interval '1 month')::date
    order by account_id, month limit $2 for update
  ), posted as (
    update account_months m set posted_at = $1::timestamptz from due
    where m.account_id = due.account_id and m.month = due.month
  ), entries as (
    insert into wallet_entries (account_id, kind, millicents, cause, month)
    select account_id, 'usage', -spent_millicents, 'usage/' || to_char(month, 'YYYY-MM'), month
    from due where spent_millicents <> 0 order by account_id, month
    on conflict (account_id, cause) do nothing
  )
  select from due`;

/** Posts the messages of each month to the wallets, once, seven days after the month has ended. */
export const postMonths: HousekeepingTask = {
  name: 'wallet_months',
  async run({ database: { pool } }, asOf, progress) {
    for (let total = 0; ;) {
      const { rowCount } = await pool.query(POST, [asOf, BATCH]);
      total += rowCount ?? 0;
      progress();
      if ((rowCount ?? 0) < BATCH) return total;
    }
  },
};
