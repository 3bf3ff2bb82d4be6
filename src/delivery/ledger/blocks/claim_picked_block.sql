-- Claims a picked block up to a given message, with places for its messages. The messages after it become another block.
--
-- sent by: take
-- $1 bigint: the process
-- $2 bigint: the campaign
-- $3 int: the number of the block
-- $4 bigint: the last message
-- $5 int: how many messages are claimed
-- $6 int: how many of them need a place
-- $7 int: the epoch of the block when it was picked
-- $8 bigint: the account
-- $9 jsonb: the settings of the limits
-- $10 int: how many places the block has
-- $11 jsonb: the prices of texts by message, or null
-- $12 bigint[]: the waiting messages behind those that are claimed, if their prices are reserved
-- $13 int: how many of the messages the sandbox counts now
-- locks: in any order, because claims of an account wait for each other before this statement, and have locked the months
--   of the account and the block: account_months, campaign_blocks, the counters of the limits, campaign_turns,
--   brand_turns
with account as materialized (
  select * from accounts where id = $8
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
      select nullif(($9::jsonb ->> 'pacing_per_minute')::int, 0) as others, min(pace) as pace,
        coalesce(max(used), 0) as used,
        min(pace - used) as left_over,
        jsonb_object_agg(domain_id, coalesce(pace - used, 2147483647)) filter (where domain_id is not null) as by_domain,
        jsonb_object_agg(domain_id, pace) filter (where pace is not null) as paces
      from (
        select p.domain_id, nullif(coalesce(p.per_minute, ($9::jsonb ->> 'pacing_per_minute')::int), 0) as pace,
          case when p.minute >= date_trunc('minute', now()) then p.used else 0 end as used
        from domain_paces p where p.account_id = a.id) p) f) f
), allowance as materialized (select f.* from account a cross join lateral (
    select "limit", used, case when a.kind = 'system' then 2147483647 else "limit" - used end as remaining, resets_at
    from (
      select coalesce(a.allowance_per_day, case a.tier
          when 'free' then ($9::jsonb ->> 'allowance_free')::int
          when 'paid' then ($9::jsonb ->> 'allowance_paid')::int
          else ($9::jsonb ->> 'allowance_trusted')::int end) as "limit",
        coalesce(sum(b.used), 0) as used,
        min(b.bucket) filter (where b.used > 0) + interval '24 hours 10 minutes' as resets_at
      from allowance_buckets b
      where b.account_id = a.id and b.bucket > now() - interval '24 hours 10 minutes') counted) f
), sandbox_cap as materialized (select f.* from account a cross join lateral (
    select cap as "limit", used, cap - used as remaining,
      (date_trunc('month', now() at time zone 'utc') + interval '1 month') at time zone 'utc' as resets_at
    from (
      select coalesce(a.sandbox_monthly_cap, ($9::jsonb ->> 'sandbox_monthly_cap')::int) as cap,
        coalesce((
          select used from sandbox_usage
          where account_id = a.id and month = date_trunc('month', now() at time zone 'utc')::date), 0) as used) s) f
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
            when 'free' then ($9::jsonb ->> 'monthly_emails_free')::int
            when 'paid' then ($9::jsonb ->> 'monthly_emails_paid')::int
            else ($9::jsonb ->> 'monthly_emails_trusted')::int end) - coalesce((
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
            when 'free' then ($9::jsonb ->> 'monthly_emails_free')::int
            when 'paid' then ($9::jsonb ->> 'monthly_emails_paid')::int
            else ($9::jsonb ->> 'monthly_emails_trusted')::int end) - coalesce((
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
, mine as materialized (
  select b.*,
    -- <by_message>
    b.channel = 'email'
    -- </by_message>
    as by_message
  from campaign_blocks b where campaign_id = $2 and n = $3
), listed as materialized (
  select coalesce(sum((e.value ->> 0)::bigint), 0)::bigint as millicents, coalesce(sum((e.value ->> 1)::int), 0)::int as units
  from jsonb_each($11::jsonb) e
), fresh as materialized (
  -- What the messages reserve now.
  select current_month() as month, m.by_message, p.units, p.free,
    case when m.by_message then (p.units - p.free) * wallet.email_price else listed.millicents end as millicents,
    wallet.email_price as unit_millicents
  from mine m cross join wallet cross join listed
  cross join lateral (
    select case when m.by_message then $5::int else listed.units end as units,
      case when m.by_message then least($5::int, wallet.free) else 0 end::int as free) p
  where m.price_month is null and $5::int > 0
    and case when m.by_message then wallet.email_price > 0 else wallet.sms_prices is not null end
), fresh_reserved as (
  insert into account_months as s (account_id, month, email_units, free_units, sms_units, spent_millicents)
  select $8::bigint, month, case when by_message then units else 0 end, free, case when by_message then 0 else units end,
    millicents
  from fresh
  on conflict (account_id, month) do update set email_units = s.email_units + excluded.email_units,
    free_units = s.free_units + excluded.free_units, sms_units = s.sms_units + excluded.sms_units,
    spent_millicents = s.spent_millicents + excluded.spent_millicents
), owed as materialized (
  -- The part of an earlier reservation that moves to the rest of the block.
  select m.price_month as month, p.units, p.free,
    case when m.by_message then (p.units - p.free) * m.unit_millicents else p.millicents end as millicents
  from mine m
  cross join lateral (
    select coalesce(sum((m.price_list -> t.id::text ->> 0)::bigint), 0)::bigint as millicents,
      coalesce(sum((m.price_list -> t.id::text ->> 1)::int), 0)::int as units
    from unnest($12::bigint[]) as t (id)) texts
  cross join lateral (
    select least(m.price_units, case when m.by_message then cardinality($12::bigint[]) else texts.units end) as units,
      least(m.price_millicents, texts.millicents) as millicents) u
  cross join lateral (
    select u.units, u.millicents, greatest(0, m.free_units - (m.price_units - u.units)) as free) p
  where m.price_month is not null
), rest as (
  insert into campaign_blocks (campaign_id, n, account_id, channel, provider_id, domain_id, first_id, last_id, size,
    variant, due_at, claim_epoch, reserved_bucket, reserved, sandbox_month, sandbox_reserved, price_month, price_units,
    free_units, price_millicents, unit_millicents, price_list)
  select campaign_id, (select least(0, min(n)) - 1 from campaign_blocks where campaign_id = $2), account_id, channel,
    provider_id, domain_id, $4::bigint + 1, last_id,
    (select count(*) from messages m where m.campaign_id = $2 and m.id between $4::bigint + 1 and mine.last_id),
    -- Its own tallies are not known, so it counts as claimed before.
    variant, due_at, claim_epoch + 1, reserved_bucket, greatest(0, $10::int - $5::int),
    -- What it has reserved in an earlier month returns.
    case when $13::int = 0 then sandbox_month end,
    case when $13::int = 0 then greatest(0, sandbox_reserved - $5::int) else 0 end,
    (select month from owed), coalesce((select units from owed), 0), coalesce((select free from owed), 0),
    coalesce((select millicents from owed), 0), unit_millicents, price_list
  from mine where last_id > $4
  returning size
)
-- <taken>
, warm_up_taken as (
  insert into warm_up_days as d (domain_id, day, used)
  select w.domain_id, (now() at time zone 'utc')::date, count(*)
  from (select mine.account_id, mine.domain_id from mine cross join generate_series(1, $6::int)) taken
  join warm_ups w on w.domain_id = taken.domain_id and w.account_id = (select id from account)
  group by 1 order by 1
  on conflict (domain_id, day) do update set used = d.used + excluded.used
), pacing_taken as (
  insert into domain_paces as p (domain_id, account_id, minute, used)
  select taken.domain_id, (select id from account), date_trunc('minute', now()), count(*)
  from (select mine.account_id, mine.domain_id from mine cross join generate_series(1, $6::int)) taken
  where ($9::jsonb ->> 'pacing_per_minute')::int <> 0 or exists (
    select from domain_paces o where o.domain_id = taken.domain_id and o.account_id = (select id from account))
  group by 1 order by 1
  on conflict (domain_id) do update set minute = excluded.minute,
    used = case when p.minute >= excluded.minute then p.used else 0 end + excluded.used
), allowance_taken as (
  insert into allowance_buckets (account_id, bucket, used)
  select (select id from account), date_bin('10 minutes', now(), timestamptz '2000-01-01 00:00Z'), count(*)
  from (select mine.account_id, mine.domain_id from mine cross
    join generate_series(1, $6::int)) taken having count(*) > 0
  on conflict (account_id, bucket) do update set used = allowance_buckets.used + excluded.used
)
-- </taken>
, turn as materialized (
  -- When the throttle lets the next recipients go. Senders take a block some time after it is due, so a campaign catches
  -- up two seconds at most.
  select c.id, c.brand_id, clock_timestamp() as at,
    greatest(t.next_free_at, mine.due_at, now() - interval '2 seconds')
      + make_interval(secs => ($5::int * 60.0 / (c.options ->> 'throttle_per_minute')::int)::float8) as next_free_at
  from mine join campaigns c on c.id = mine.campaign_id left join campaign_turns t on t.campaign_id = c.id
), campaign_turn as (
  insert into campaign_turns (campaign_id, claimed_at, next_free_at) select id, at, next_free_at from turn
  on conflict (campaign_id) do update set claimed_at = excluded.claimed_at, next_free_at = excluded.next_free_at
), brand_turn as (
  insert into brand_turns (brand_id, channel, provider_id, claimed_at)
  select turn.brand_id, mine.channel, mine.provider_id, turn.at from turn cross join mine
  on conflict (brand_id, channel, provider_id) do update set claimed_at = excluded.claimed_at
)
update campaign_blocks b set owner = $1, claim_epoch = b.claim_epoch + 1, hold_reason = null, last_id = $4,
  size = b.size - coalesce((select size from rest), 0), reserved = least($10::int, $5::int) + $6::int,
  sandbox_month = case when $13::int > 0 then date_trunc('month', now() at time zone 'utc')::date else b.sandbox_month end,
  sandbox_reserved = case when $13::int > 0 then $13::int else least(b.sandbox_reserved, $5::int) end,
  price_month = coalesce(b.price_month, (select month from fresh)),
  price_units = b.price_units + coalesce((select units from fresh), 0) - coalesce((select units from owed), 0),
  free_units = b.free_units + coalesce((select free from fresh), 0) - coalesce((select free from owed), 0),
  price_millicents = b.price_millicents + coalesce((select millicents from fresh), 0)
    - coalesce((select millicents from owed), 0),
  unit_millicents = coalesce((select unit_millicents from fresh), b.unit_millicents),
  price_list = coalesce($11::jsonb, b.price_list)
  -- <reserved>
  , reserved_bucket = case when $6::int > 0 then date_bin('10 minutes', now(), timestamptz '2000-01-01 00:00Z')
    else b.reserved_bucket end
  -- </reserved>
where b.campaign_id = $2 and b.n = $3 and b.claim_epoch = $7
returning b.claim_epoch as epoch
