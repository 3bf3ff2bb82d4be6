-- Decides how many transactional messages of a held backlog the limits let go, not counting those that are due already.
-- They have reserved their price.
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
          null::timestamptz) end) as recheck_at,
      least(2147483647, allowance.remaining)::int as room
    from account a cross join warm_up cross join pacing cross join allowance) r
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
