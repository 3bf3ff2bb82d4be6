-- Decides how many messages of a held backlog the limits let go, not counting those that are due already. For messages
-- that reserve their price when they are claimed; transactional ones have reserved it, so fewer limits decide.
--
-- sent by: decide
-- $1 bigint: the account
-- $2 text: the channel
-- $3 smallint: the class
-- $4 bigint: the provider
-- $5 jsonb: the settings of the limits
-- locks: the row in held_backlogs, which the caller has locked
with account as materialized (
  select * from accounts where id = $1
)
-- <figures>
, warm_up as materialized (select f.* from account a cross join lateral (
    select coalesce(min(w.daily_limit), 2147483647) as "limit", coalesce(max(w.used), 0) as used,
      coalesce(min(w.daily_limit - w.used), 2147483647) as remaining,
      max((((now() at time zone 'utc')::date + 1)::timestamp at time zone 'utc')) as resets_at,
      jsonb_object_agg(w.domain_id, w.daily_limit - w.used) filter (where w.domain_id is not null) as by_domain
    from (
      select w.domain_id, w.account_id, w.daily_limit, coalesce(d.used, 0) as used
      from warm_ups w left
      join warm_up_days d on d.domain_id = w.domain_id and d.day = (now() at time zone 'utc')::date) w
    where w.account_id = a.id) f
), pacing as materialized (select f.* from account a cross join lateral (
    select coalesce(least(others, pace), 2147483647) as "limit", used,
      coalesce(least(others, left_over), 2147483647) as remaining,
      date_trunc('minute', now()) + interval '1 minute' as resets_at, by_domain, paces, others
    from (
      select nullif(($5::jsonb ->> 'pacing_per_minute')::int, 0) as others, min(pace) as pace,
        coalesce(max(used), 0) as used,
        min(pace - used) as left_over,
        jsonb_object_agg(domain_id, coalesce(pace - used, 2147483647)) filter (where domain_id is not null) as by_domain,
        jsonb_object_agg(domain_id, pace) filter (where pace is not null) as paces
      from (
        select p.domain_id, nullif(coalesce(p.per_minute, ($5::jsonb ->> 'pacing_per_minute')::int), 0) as pace,
          case when p.minute >= date_trunc('minute', now()) then p.used else 0 end as used
        from domain_paces p where p.account_id = a.id) p) f) f
), allowance as materialized (select f.* from account a cross join lateral (
    select "limit", used, case when a.kind = 'system' then 2147483647 else "limit" - used end as remaining, resets_at
    from (
      select coalesce(a.allowance_per_day, case a.tier
          when 'free' then ($5::jsonb ->> 'allowance_free')::int
          when 'paid' then ($5::jsonb ->> 'allowance_paid')::int
          else ($5::jsonb ->> 'allowance_trusted')::int end) as "limit",
        coalesce(sum(b.used), 0) as used,
        min(b.bucket) filter (where b.used > 0) + interval '24 hours 10 minutes' as resets_at
      from allowance_buckets b
      where b.account_id = a.id and b.bucket > now() - interval '24 hours 10 minutes') counted) f
), spend_cap as materialized (select f.* from account a cross join lateral (
    select "limit", used, left_over as remaining,
      ((current_month() + interval '1 month') at time zone 'utc') as resets_at, pays, email_price, sms_prices, least_text,
      free,
      case when left_over is null or email_price = 0 then 2147483647
      else least(2147483647, free + greatest(0, left_over) / email_price) end::int as emails,
      case when left_over is null or coalesce(least_text, 0) = 0 then 2147483647
      else least(2147483647, greatest(0, left_over) / least_text) end::int as texts
    from (
      select pays, s."limit", s.used, s."limit" - s.used as left_over,
        case when pays then coalesce((select p.millicents from prices p where p.tier = a.tier and p.kind = 'email'), 0)
        else 0 end as email_price, t.sms_prices, t.least_text,
        case when pays then greatest(0, coalesce(a.monthly_email_allowance, case a.tier
            when 'free' then ($5::jsonb ->> 'monthly_emails_free')::int
            when 'paid' then ($5::jsonb ->> 'monthly_emails_paid')::int
            else ($5::jsonb ->> 'monthly_emails_trusted')::int end) - coalesce((
            select s.free_units from account_months s where s.account_id = a.id and s.month = current_month()), 0))
        else 0 end as free
      from (select (not a.comped and a.kind = 'customer' and exists (
            select from prices p where p.tier = a.tier and p.millicents > 0)) as pays offset 0) p
      cross join lateral (
        select case when pays then (a.spend_cap_monthly_cents::bigint * 1000) end as "limit", case
          when pays then (coalesce((
              select s.spent_millicents + s.validation_millicents from account_months s
              where s.account_id = a.id and s.month = current_month()),
              0) + coalesce((
              select sum(v.reserved_millicents) from validation_operations v
              where v.account_id = a.id and v.reserved_millicents > 0 and v.price_month = current_month()),
              0))::bigint end as used) s
      left join lateral (
        select jsonb_object_agg(p.country, p.millicents) as sms_prices, min(p.millicents) as least_text
        from prices p where pays and p.tier = a.tier and p.kind = 'sms') t on true) f) f
), wallet as materialized (select f.* from account a cross join lateral (
    select "limit", used, left_over as remaining,
      ((current_month() + interval '1 month') at time zone 'utc') as resets_at, pays, email_price, sms_prices, least_text,
      free,
      case when left_over is null or email_price = 0 then 2147483647
      else least(2147483647, free + greatest(0, left_over) / email_price) end::int as emails,
      case when left_over is null or coalesce(least_text, 0) = 0 then 2147483647
      else least(2147483647, greatest(0, left_over) / least_text) end::int as texts
    from (
      select pays, s."limit", s.used, s."limit" - s.used as left_over,
        case when pays then coalesce((select p.millicents from prices p where p.tier = a.tier and p.kind = 'email'), 0)
        else 0 end as email_price, t.sms_prices, t.least_text,
        case when pays then greatest(0, coalesce(a.monthly_email_allowance, case a.tier
            when 'free' then ($5::jsonb ->> 'monthly_emails_free')::int
            when 'paid' then ($5::jsonb ->> 'monthly_emails_paid')::int
            else ($5::jsonb ->> 'monthly_emails_trusted')::int end) - coalesce((
            select s.free_units from account_months s where s.account_id = a.id and s.month = current_month()), 0))
        else 0 end as free
      from (select (not a.comped and a.kind = 'customer' and exists (
            select from prices p where p.tier = a.tier and p.millicents > 0)) as pays offset 0) p
      cross join lateral (
        select case when pays then (
            coalesce((select w.entries_millicents from wallets w where w.account_id = a.id), 0)
            - coalesce((select sum(s.spent_millicents) from account_months s
              where s.account_id = a.id and s.posted_at is null), 0)
            - coalesce((select sum(v.reserved_millicents) from validation_operations v
              where v.account_id = a.id and v.reserved_millicents > 0), 0))::bigint end as "limit", case
          when pays then 0::bigint end as used) s
      left join lateral (
        select jsonb_object_agg(p.country, p.millicents) as sms_prices, min(p.millicents) as least_text
        from prices p where pays and p.tier = a.tier and p.kind = 'sms') t on true) f) f
)
-- </figures>
, room as materialized (
  -- <room>
  select case when recheck_at is not null then greatest(recheck_at, now() + interval '10 seconds') end as recheck_at,
    room
  from (
    select least(null::timestamptz, case when a.sending_paused_at is not null or false
        then least(null::timestamptz, now() + interval '5 minutes') end, case when false or allowance.remaining <= 0
        then least(coalesce(allowance.resets_at,
            now() + case when allowance.remaining > 0 then interval '24 hours 10 minutes' else interval '10 minutes' end),
          null::timestamptz) end,
        case
        when false or case $2 when 'email' then spend_cap.emails else spend_cap.texts end <= 0
        then least(((current_month() + interval '1 month') at time zone 'utc'), now() + interval '5 minutes') end, case
        when false or case $2 when 'email' then wallet.emails else wallet.texts end <= 0
        then least(null::timestamptz, now() + interval '5 minutes') end) as recheck_at,
      least(2147483647, allowance.remaining, case $2 when 'email' then spend_cap.emails else spend_cap.texts end, case $2
        when 'email' then wallet.emails else wallet.texts end)::int as room
    from account a cross join warm_up cross join pacing cross join allowance cross join spend_cap cross join wallet) r
  -- </room>
), waiting as (
  select count(*) as count from (
    select 1 from send_queue
    where owner is null and account_id = $1 and channel = $2 and class = $3 and provider_id = $4 and due_at <= now()
    limit (select case when recheck_at is null then greatest(room, 0) else 0 end from room)) due
)
update held_backlogs set
  recheck_at = coalesce(room.recheck_at,
    case when room.room > waiting.count then now() else now() + interval '10 seconds' end),
  release_count = case when room.recheck_at is null and room.room > waiting.count then room.room - waiting.count end,
  released_until = null
from room, waiting where account_id = $1 and channel = $2 and class = $3 and provider_id = $4
returning release_count as count
