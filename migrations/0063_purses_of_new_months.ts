import { up as former } from './0061_purses.ts';

/**
 * Locks wallets only after the months of their accounts, also while a month begins. Before, a transaction that found no
 * month could wait for the wallet until another one had committed the month, and then continued without a lock on the
 * month: it could deadlock with a third one.
 */
export const name = '0063_purses_of_new_months';

export const up = `
create or replace function lock_purses(ids bigint[])
returns table (account_id bigint, month date, free_units bigint, spent_millicents bigint, balance_millicents bigint)
language plpgsql as $$
#variable_conflict use_column
declare
  found integer;
  locked bigint[];
begin
  -- Most accounts that pay have both rows. One statement less is a twentieth of the time of a group of messages.
  perform from account_months m join wallets w on w.account_id = m.account_id
  where m.account_id = any(ids) and m.month = current_month()
  order by m.account_id for update;
  get diagnostics found = row_count;
  if found < cardinality(ids) then
    -- A month that another transaction commits from here on is not locked, so it does not count.
    locked := array(
      select m.account_id from account_months m where m.account_id = any(ids) and m.month = current_month()
      order by m.account_id for update);
    perform refuse_beyond_purse(id) from unnest(ids) as i (id) where id <> all(locked);
    perform from wallets w where w.account_id = any(ids) order by w.account_id for update;
  end if;
  return query
    select s.account_id, s.month, s.free_units,
      (s.spent_millicents + s.validation_millicents + v.reserved_in_month)::bigint,
      (coalesce((select w.entries_millicents from wallets w where w.account_id = s.account_id), 0)
        - (select sum(m.spent_millicents) from account_months m where m.account_id = s.account_id and m.posted_at is null)
        - v.reserved)::bigint
    from account_months s cross join lateral (
      select coalesce(sum(o.reserved_millicents), 0) as reserved,
        coalesce(sum(o.reserved_millicents) filter (where o.price_month = s.month), 0) as reserved_in_month
      from validation_operations o where o.account_id = s.account_id and o.reserved_millicents > 0) v
    where s.account_id = any(ids) and s.month = current_month();
end $$;
`;
export const down = `
drop function lock_purses, refuse_beyond_purse;
${former}
`;
