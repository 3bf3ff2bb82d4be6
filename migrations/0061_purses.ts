/** What accounts may spend. It is read after their months and wallets were locked. */
export const name = '0061_purses';

export const up = `
create function refuse_beyond_purse(account bigint) returns boolean language plpgsql as $$
begin
  raise exception 'account % has no month, or cannot pay for all of its messages', account
    using errcode = 'CL003', detail = account::text;
end $$;

-- Locks what lock_months locks, and returns what the accounts have spent by then: a function reads what was committed while
-- it waited for its locks, which the statement that calls it does not see. The sums are those of spentSql and balanceSql
-- (src/delivery/ledger/limits/money.ts, src/delivery/ledger/money/wallet.ts). An account without a month is refused, because the statement that
-- calls it could not raise a month that the function inserts.
create function lock_purses(ids bigint[])
returns table (account_id bigint, month date, free_units bigint, spent_millicents bigint, balance_millicents bigint)
language plpgsql as $$
#variable_conflict use_column
declare
  found integer;
begin
  -- Most accounts that pay have both rows. One statement less is a twentieth of the time of a group of messages.
  perform from account_months m join wallets w on w.account_id = m.account_id
  where m.account_id = any(ids) and m.month = current_month()
  order by m.account_id for update;
  get diagnostics found = row_count;
  if found < cardinality(ids) then
    perform from account_months m where m.account_id = any(ids) and m.month = current_month()
    order by m.account_id for update;
    perform from wallets w where w.account_id = any(ids) order by w.account_id for update;
    perform refuse_beyond_purse(id) from unnest(ids) as i (id)
    where not exists (select from account_months m where m.account_id = id and m.month = current_month());
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

export const down = `drop function lock_purses, refuse_beyond_purse;`;
