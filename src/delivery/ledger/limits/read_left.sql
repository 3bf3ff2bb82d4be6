-- Reads what accounts have left under each rule that refuses messages at accept, in the order of the rules.
--
-- sent by: createAdmission
-- $1 bigint[]: the accounts
-- $2 jsonb: the settings of the limits
-- locks: nothing
select a.id,
  json_build_array(
    -- <left>
    case when a.kind = 'customer' then (select remaining from (
      select cap as "limit", used, cap - used as remaining,
        (date_trunc('month', now() at time zone 'utc') + interval '1 month') at time zone 'utc' as resets_at
      from (
        select coalesce(a.sandbox_monthly_cap, ($2::jsonb ->> 'sandbox_monthly_cap')::int) as cap,
          coalesce((
            select used from sandbox_usage
            where account_id = a.id and month = date_trunc('month', now() at time zone 'utc')::date),
            0) as used) s) sandbox) end
    -- </left>
  ) as "left"
from accounts a where a.id = any($1::bigint[])
