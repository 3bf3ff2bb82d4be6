-- Prepared as claim_backlog_f4d7f342ad16
-- Written by npm run sql: see docs/statements.md.
--
-- Decides on the first due messages of a backlog, and claims those that no limit holds.
-- This shape: transactional messages, which have reserved their price.
-- Others: claim_backlog.
-- Defined in src/delivery/ledger/claim/claim.ts, sent by claimBacklogs().
--
-- $1 jsonb: the ClaimRequest, with the settings of the limits

prepare claim_backlog_f4d7f342ad16 (jsonb) as
with alive as materialized (
  select id from processes where id = ($1 ->> 'owner')::bigint for key share
), account as materialized (
  select * from accounts where id = ($1 ->> 'accountId')::bigint
), warm_up as materialized (select f.* from account a cross join lateral (
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
      select nullif((($1 -> 'settings') ->> 'pacing_per_minute')::int, 0) as others, min(pace) as pace,
        coalesce(max(used), 0) as used,
        min(pace - used) as left_over,
        jsonb_object_agg(domain_id, coalesce(pace - used, 2147483647)) filter (where domain_id is not null) as by_domain,
        jsonb_object_agg(domain_id, pace) filter (where pace is not null) as paces
      from (
        select p.domain_id,
          nullif(coalesce(p.per_minute, (($1 -> 'settings') ->> 'pacing_per_minute')::int), 0) as pace,
          case when p.minute >= date_trunc('minute', now()) then p.used else 0 end as used
        from domain_paces p where p.account_id = a.id) p) f) f
), allowance as materialized (select f.* from account a cross join lateral (
    select "limit", used, case when a.kind = 'system' then 2147483647 else "limit" - used end as remaining, resets_at
    from (
      select coalesce(a.allowance_per_day, case a.tier
          when 'free' then (($1 -> 'settings') ->> 'allowance_free')::int
          when 'paid' then (($1 -> 'settings') ->> 'allowance_paid')::int
          else (($1 -> 'settings') ->> 'allowance_trusted')::int end) as "limit",
        coalesce(sum(b.used), 0) as used,
        min(b.bucket) filter (where b.used > 0) + interval '24 hours 10 minutes' as resets_at
      from allowance_buckets b
      where b.account_id = a.id and b.bucket > now() - interval '24 hours 10 minutes') counted) f
), picked as (
  select message_id, queued_at, domain_id, reserved_bucket, class from send_queue
  where owner is null and channel = ($1 ->> 'channel')::text and class = ($1 ->> 'class')::smallint
    and account_id = ($1 ->> 'accountId')::bigint and provider_id = ($1 ->> 'providerId')::bigint
    and due_at <= now()
  -- The fence: a process that was taken for dead claims nothing, and the reaper waits for a claim that has begun.
    and (select id from alive) is not null
  order by due_at, message_id limit ($1 ->> 'quantum')::int
  for update skip locked
), decided as materialized (
  select q.*, case when q.expired_applies then null when q.domain_deleted_applies then null
    when q.account_paused_applies then 'account_paused' when q.domain_unverified_applies then 'domain_unverified'
    when q.warm_up_applies then 'warm_up' when q.pacing_applies then 'pacing'
    when q.allowance_applies then 'allowance' end as held_by
  from (
    select q.*,
      (q.allowance_takes_place and (true) and q.allowance_place > (allowance.remaining)) is true as allowance_applies
    from (
      select q.*, row_number() over (partition by q.allowance_takes_place order by q.message_id) as allowance_place
      from (select q.*, (q.reserved_bucket is null) and not q.expired_applies and not q.domain_deleted_applies
          and not q.account_paused_applies and not q.domain_unverified_applies and not q.warm_up_applies
          and not q.pacing_applies as allowance_takes_place
        from (
          select q.*,
            (q.pacing_takes_place and (q.class <> 0)
              and q.pacing_place > (coalesce((pacing.by_domain ->> q.domain_id::text)::int,
                  pacing.others))) is true as pacing_applies
          from (
            select q.*,
              row_number() over (partition by q.pacing_takes_place, q.domain_id order by q.message_id) as pacing_place
            from (select q.*, (q.reserved_bucket is null and q.domain_id is not null) and not q.expired_applies
                and not q.domain_deleted_applies and not q.account_paused_applies and not q.domain_unverified_applies
                and not q.warm_up_applies as pacing_takes_place
              from (
                select q.*,
                  (q.warm_up_takes_place and (q.class <> 0)
                    and q.warm_up_place > ((warm_up.by_domain ->> q.domain_id::text)::int)) is true as warm_up_applies
                from (
                  select q.*,
                    row_number() over (partition by q.warm_up_takes_place, q.domain_id
                    order by q.message_id) as warm_up_place
                  from (select q.*, (q.reserved_bucket is null and q.domain_id is not null) and not q.expired_applies
                      and not q.domain_deleted_applies and not q.account_paused_applies
                      and not q.domain_unverified_applies as warm_up_takes_place
                    from (select q.*, (q.queued_at < now() - interval '72 hours') is true as expired_applies,
                        (q.domain_id is not null
                          and (select d.id from domains d
                          where d.id = q.domain_id) is null) is true as domain_deleted_applies,
                        (a.sending_paused_at is not null) is true as account_paused_applies,
                        ((select d.status from domains d
                          where d.id = q.domain_id) <> 'verified') is true as domain_unverified_applies
                      from picked q cross join account a) q) q
                ) q cross join warm_up) q) q
          ) q cross join pacing) q) q
    ) q cross join allowance) q
), warm_up_taken as (
  insert into warm_up_days as d (domain_id, day, used)
  select w.domain_id, (now() at time zone 'utc')::date, count(*)
  from (select * from decided where held_by is null and warm_up_takes_place) taken
  join warm_ups w on w.domain_id = taken.domain_id and w.account_id = (select id from account)
  group by 1 order by 1
  on conflict (domain_id, day) do update set used = d.used + excluded.used
), pacing_taken as (
  insert into domain_paces as p (domain_id, account_id, minute, used)
  select taken.domain_id, (select id from account), date_trunc('minute', now()), count(*)
  from (select * from decided where held_by is null and pacing_takes_place) taken
  where (($1 -> 'settings') ->> 'pacing_per_minute')::int <> 0 or exists (
    select from domain_paces o where o.domain_id = taken.domain_id and o.account_id = (select id from account))
  group by 1 order by 1
  on conflict (domain_id) do update set minute = excluded.minute,
    used = case when p.minute >= excluded.minute then p.used else 0 end + excluded.used
), allowance_taken as (
  insert into allowance_buckets (account_id, bucket, used)
  select (select id from account), date_bin('10 minutes', now(), timestamptz '2000-01-01 00:00Z'), count(*)
  from (select * from decided where held_by is null and allowance_takes_place) taken having count(*) > 0
  on conflict (account_id, bucket) do update set used = allowance_buckets.used + excluded.used
), claimed as (
  update send_queue q set owner = (select id from alive), claim_epoch = q.claim_epoch + 1,
    held = false, reserved_bucket = case when (q.reserved_bucket is null)
    and not (q.queued_at < now() - interval '72 hours')
    and not (q.domain_id is not null
      and (select d.id from domains d where d.id = q.domain_id) is null) then date_bin('10 minutes', now(),
      timestamptz '2000-01-01 00:00Z')
    else q.reserved_bucket end
  where q.message_id = any(array(select message_id from decided where held_by is null))
  returning q.message_id, q.claim_epoch, q.content_bytes, q.content_weight, q.connection_losses
), holds as materialized (
  select jsonb_object_agg(message_id, jsonb_build_object('due', due, 'hold', hold, 'with_backlog', with_backlog))
    as by_id,
    bool_or(with_backlog) as with_backlog
  from (
    select message_id, with_backlog,
      case when with_backlog then expires_at else least(coalesce(ends_at, recheck_at), expires_at) end as due,
      jsonb_build_object('reason', held_by, 'until', case when ends_at is not null then least(ends_at, expires_at) end)
      as hold
    from (
      select q.message_id, q.held_by, queued_at + interval '72 hours' + interval '1 second' as expires_at,
        coalesce(q.held_by in (null, 'account_paused', 'allowance'), false) as with_backlog,
        case q.held_by when 'account_paused' then null::timestamptz when 'domain_unverified' then null::timestamptz
        when 'warm_up' then (((now() at time zone 'utc')::date + 1)::timestamp at time zone 'utc')
        when 'pacing' then date_trunc('minute', now()) + interval '1 minute' * (1 + (q.pacing_place - 1)
          / greatest(1, coalesce((pacing.paces ->> q.domain_id::text)::int, pacing.others, 1)))
        when 'allowance' then coalesce(allowance.resets_at,
          now() + case when allowance.remaining > 0 then interval '24 hours 10 minutes'
          else interval '10 minutes' end) end as ends_at,
        case q.held_by when 'account_paused' then now() + interval '5 minutes'
        when 'domain_unverified' then now() + interval '6 hours' when 'warm_up' then null::timestamptz
        when 'pacing' then null::timestamptz when 'allowance' then null::timestamptz end as recheck_at
      from decided q cross join account a cross join warm_up cross join pacing cross join allowance
      where q.held_by is not null) held) h
), marked as materialized (
  -- Skips messages that are locked: a recorder that has locked one wants its queue row next, which we have locked.
  select id from hold_messages((select by_id from holds)) as h (id)
), busy as (
  update send_queue q set due_at = now() + interval '5 seconds'
  where q.message_id = any(array(
      select message_id from decided where held_by is not null except select id from marked))
), held as (
  update send_queue q
  set due_at = ((select by_id from holds) -> q.message_id::text ->> 'due')::timestamptz,
    held = ((select by_id from holds) -> q.message_id::text ->> 'with_backlog')::boolean
  where q.message_id = any(array(select id from marked))
), held_backlog as (
  insert into held_backlogs as h (account_id, channel, class, provider_id, recheck_at)
  select id, ($1 ->> 'channel')::text, ($1 ->> 'class')::smallint, ($1 ->> 'providerId')::bigint,
    now() + interval '30 seconds'
  from account where (select with_backlog from holds)
  -- The row is locked even if it stays as it is, so that a release that finds no message does not remove it.
  on conflict (account_id, channel, class, provider_id) do update set recheck_at = excluded.recheck_at
  where h.recheck_at > excluded.recheck_at
)
select looked_at, message_id, claim_epoch, content_bytes, content_weight, connection_losses
from (select count(*)::int as looked_at from decided) d left join claimed on true order by message_id
