-- Decides on the first due messages of a backlog, and claims those that no limit holds. The others become held, each
-- until its limit ends, or, if the limit holds the whole account, until the backlog is released. Returns a row for each
-- claimed message, or one row without a message; looked_at is how many messages it decided on.
--
-- sent by: claimBacklogs
-- request: the ClaimRequest, with the settings of the limits; its channel is the queue
-- locks: the advisory lock of the account, which other claims of it wait for; processes; send_queue, skipping locked
--   rows; the counters of the limits, from the last of their table to the first, as PostgreSQL executes the parts of a
--   with that nothing reads; messages that are held, skipping locked rows; then held_backlogs. take_plain_messages locks
--   counters in the other order: the advisory lock keeps the two apart
-- sees: the figures of the limits are read behind the advisory lock. What is held is decided with what is claimed, by one
--   query; those after it see its changes, and use only the decision.
-- partitions: hold_messages updates messages
create function claim_backlog(request jsonb)
returns table (
  looked_at int, message_id bigint, claim_epoch int, content_bytes int, content_weight int, connection_losses int,
  file_bytes int)
language plpgsql rows 50 as $$
-- The SQL of a limit knows nothing of the variables here, whose names must not be those of columns.
#variable_conflict use_column
declare
  of_account bigint := (request ->> 'accountId')::bigint;
  of_channel text := request ->> 'channel';
  of_class smallint := (request ->> 'class')::smallint;
  of_provider bigint := (request ->> 'providerId')::bigint;
  process bigint := (request ->> 'owner')::bigint;
  limit_settings jsonb := request -> 'settings';
  ids bigint[];
  claimed_ids bigint[];
  epochs int[];
  sizes int[];
  weights int[];
  losses int[];
  files int[];
  holds jsonb;
  held_with_backlog boolean;
  held_ids bigint[];
  marked_ids bigint[];
begin
  perform pg_advisory_xact_lock(1129468234, (of_account % 2147483647)::int);
  -- The fence: a process that was taken for dead claims nothing, and the reaper waits for a claim that has begun.
  perform from processes p where p.id = process for key share;
  if found then
    select array_agg(q.message_id order by q.message_id) into ids
    from (
      select s.message_id from send_queue s
      where s.owner is null and s.channel = of_channel and s.class = of_class and s.account_id = of_account
        and s.provider_id = of_provider and s.due_at <= now()
      order by s.due_at, s.message_id limit (request ->> 'quantum')::int
      for update skip locked) q;
  end if;
  if ids is null then
    return query select 0, null::bigint, null::int, null::int, null::int, null::int, null::int;
    return;
  end if;

  -- Rows are updated by their keys, never in a join: as long as the statistics of the table say that it is empty, a join
  -- scans the whole table for each row.
  if of_class = 0 then
    -- POST /messages has reserved the price, so the limits on money have nothing to decide.
    with account as materialized (select * from accounts where id = of_account),
    -- <figures_if_reserved>
      warm_up as materialized (select f.* from account a cross join lateral (
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
          select nullif((limit_settings ->> 'pacing_per_minute')::int, 0) as others, min(pace) as pace,
            coalesce(max(used), 0) as used,
            min(pace - used) as left_over,
            jsonb_object_agg(domain_id, coalesce(pace - used, 2147483647)) filter (where domain_id is not null) as by_domain,
            jsonb_object_agg(domain_id, pace) filter (where pace is not null) as paces
          from (
            select p.domain_id, nullif(coalesce(p.per_minute, (limit_settings ->> 'pacing_per_minute')::int), 0) as pace,
              case when p.minute >= date_trunc('minute', now()) then p.used else 0 end as used
            from domain_paces p where p.account_id = a.id) p) f) f
    ), allowance as materialized (select f.* from account a cross join lateral (
        select "limit", used, case when a.kind = 'system' then 2147483647 else "limit" - used end as remaining, resets_at
        from (
          select coalesce(a.allowance_per_day, case a.tier
              when 'free' then (limit_settings ->> 'allowance_free')::int
              when 'paid' then (limit_settings ->> 'allowance_paid')::int
              else (limit_settings ->> 'allowance_trusted')::int end) as "limit",
            coalesce(sum(b.used), 0) as used,
            min(b.bucket) filter (where b.used > 0) + interval '24 hours 10 minutes' as resets_at
          from allowance_buckets b
          where b.account_id = a.id and b.bucket > now() - interval '24 hours 10 minutes') counted) f
    ),
    -- </figures_if_reserved>
    picked as (
      select
        -- <columns_if_reserved>
        message_id, queued_at, domain_id, reserved_bucket, class
        -- </columns_if_reserved>
      from send_queue q where q.message_id = any(ids)
    ),
    decided as materialized (
      -- <decided_if_reserved>
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
      -- </decided_if_reserved>
    ),
    -- <takes_if_reserved>
      warm_up_taken as (
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
      where (limit_settings ->> 'pacing_per_minute')::int <> 0 or exists (
        select from domain_paces o where o.domain_id = taken.domain_id and o.account_id = (select id from account))
      group by 1 order by 1
      on conflict (domain_id) do update set minute = excluded.minute,
        used = case when p.minute >= excluded.minute then p.used else 0 end + excluded.used
    ), allowance_taken as (
      insert into allowance_buckets (account_id, bucket, used)
      select (select id from account), date_bin('10 minutes', now(), timestamptz '2000-01-01 00:00Z'), count(*)
      from (select * from decided where held_by is null and allowance_takes_place) taken having count(*) > 0
      on conflict (account_id, bucket) do update set used = allowance_buckets.used + excluded.used
    ),
    -- </takes_if_reserved>
    claimed as (
      update send_queue q set owner = process, claim_epoch = q.claim_epoch + 1, held = false
        -- <reserves_if_reserved>
        , reserved_bucket = case when (q.reserved_bucket is null) and not (q.queued_at < now() - interval '72 hours')
          and not (q.domain_id is not null
            and (select d.id from domains d where d.id = q.domain_id) is null) then date_bin('10 minutes', now(),
            timestamptz '2000-01-01 00:00Z')
          else q.reserved_bucket end
        -- </reserves_if_reserved>
      where q.message_id = any(array(select message_id from decided where held_by is null))
      returning q.message_id, q.claim_epoch, q.content_bytes, q.content_weight, q.connection_losses
    ), held as (
      -- <held_if_reserved>
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
        where q.held_by is not null) held
      -- </held_if_reserved>
    )
    select array_agg(q.message_id), array_agg(q.claim_epoch), array_agg(q.content_bytes), array_agg(q.content_weight),
      array_agg(q.connection_losses),
      (select jsonb_object_agg(h.message_id, to_jsonb(h)) from held h), (select bool_or(h.with_backlog) from held h)
    into claimed_ids, epochs, sizes, weights, losses, holds, held_with_backlog
    from (select * from claimed order by message_id) q;
  else
    with account as materialized (select * from accounts where id = of_account),
    -- <figures>
      warm_up as materialized (select f.* from account a cross join lateral (
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
          select nullif((limit_settings ->> 'pacing_per_minute')::int, 0) as others, min(pace) as pace,
            coalesce(max(used), 0) as used,
            min(pace - used) as left_over,
            jsonb_object_agg(domain_id, coalesce(pace - used, 2147483647)) filter (where domain_id is not null) as by_domain,
            jsonb_object_agg(domain_id, pace) filter (where pace is not null) as paces
          from (
            select p.domain_id, nullif(coalesce(p.per_minute, (limit_settings ->> 'pacing_per_minute')::int), 0) as pace,
              case when p.minute >= date_trunc('minute', now()) then p.used else 0 end as used
            from domain_paces p where p.account_id = a.id) p) f) f
    ), allowance as materialized (select f.* from account a cross join lateral (
        select "limit", used, case when a.kind = 'system' then 2147483647 else "limit" - used end as remaining, resets_at
        from (
          select coalesce(a.allowance_per_day, case a.tier
              when 'free' then (limit_settings ->> 'allowance_free')::int
              when 'paid' then (limit_settings ->> 'allowance_paid')::int
              else (limit_settings ->> 'allowance_trusted')::int end) as "limit",
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
                when 'free' then (limit_settings ->> 'monthly_emails_free')::int
                when 'paid' then (limit_settings ->> 'monthly_emails_paid')::int
                else (limit_settings ->> 'monthly_emails_trusted')::int end) - coalesce((
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
                when 'free' then (limit_settings ->> 'monthly_emails_free')::int
                when 'paid' then (limit_settings ->> 'monthly_emails_paid')::int
                else (limit_settings ->> 'monthly_emails_trusted')::int end) - coalesce((
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
    ),
    -- </figures>
    picked as (
      select
        -- <columns>
        message_id, queued_at, domain_id, reserved_bucket, class, channel, price_month, price_country, price_units
        -- </columns>
      from send_queue q where q.message_id = any(ids)
    ),
    decided as materialized (
      -- <decided>
      select q.*, case when q.expired_applies then null when q.domain_deleted_applies then null
        when q.account_paused_applies then 'account_paused' when q.domain_unverified_applies then 'domain_unverified'
        when q.warm_up_applies then 'warm_up' when q.pacing_applies then 'pacing' when q.allowance_applies then 'allowance'
        when q.spend_cap_applies then 'spend_cap' when q.wallet_applies then 'wallet' end as held_by
      from (
        select q.*,
          (q.wallet_takes_place and (true)
            and q.wallet_place > (case when wallet.remaining is null then null when q.channel = 'email' then wallet.emails
              else wallet.remaining end)) is true as wallet_applies
        from (
          select q.*,
            sum(case when q.channel = 'email' then 1 else coalesce(case when q.price_country = '*' then wallet.least_text
                else (wallet.sms_prices ->> q.price_country)::bigint end * coalesce(q.price_units, 1),
                0) end) over (partition by q.wallet_takes_place
            order by q.message_id) as wallet_place
          from (select q.*, (q.price_month is null) and not q.expired_applies and not q.domain_deleted_applies
              and not q.account_paused_applies and not q.domain_unverified_applies and not q.warm_up_applies
              and not q.pacing_applies and not q.allowance_applies and not q.spend_cap_applies as wallet_takes_place
            from (
              select q.*,
                (q.spend_cap_takes_place and (true)
                  and q.spend_cap_place > (case when spend_cap.remaining is null then null
                    when q.channel = 'email' then spend_cap.emails
                    else spend_cap.remaining end)) is true as spend_cap_applies
              from (
                select q.*,
                  sum(case when q.channel = 'email' then 1
                    else coalesce(case when q.price_country = '*' then spend_cap.least_text
                      else (spend_cap.sms_prices ->> q.price_country)::bigint end * coalesce(q.price_units, 1),
                      0) end) over (partition by q.spend_cap_takes_place
                  order by q.message_id) as spend_cap_place
                from (select q.*, (q.price_month is null) and not q.expired_applies and not q.domain_deleted_applies
                    and not q.account_paused_applies and not q.domain_unverified_applies and not q.warm_up_applies
                    and not q.pacing_applies and not q.allowance_applies as spend_cap_takes_place
                  from (
                    select q.*,
                      (q.allowance_takes_place and (true)
                        and q.allowance_place > (allowance.remaining)) is true as allowance_applies
                    from (
                      select q.*,
                        row_number() over (partition by q.allowance_takes_place order by q.message_id) as allowance_place
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
                              row_number() over (partition by q.pacing_takes_place, q.domain_id
                              order by q.message_id) as pacing_place
                            from (select q.*, (q.reserved_bucket is null and q.domain_id is not null)
                                and not q.expired_applies and not q.domain_deleted_applies and not q.account_paused_applies
                                and not q.domain_unverified_applies and not q.warm_up_applies as pacing_takes_place
                              from (
                                select q.*,
                                  (q.warm_up_takes_place and (q.class <> 0)
                                    and q.warm_up_place > ((warm_up.by_domain ->> q.domain_id::text)::int)) is true as warm_up_applies
                                from (
                                  select q.*,
                                    row_number() over (partition by q.warm_up_takes_place, q.domain_id
                                    order by q.message_id) as warm_up_place
                                  from (select q.*, (q.reserved_bucket is null and q.domain_id is not null)
                                      and not q.expired_applies and not q.domain_deleted_applies
                                      and not q.account_paused_applies
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
                    ) q cross join allowance) q) q cross join spend_cap
              ) q cross join spend_cap) q) q cross join wallet
        ) q cross join wallet) q
      -- </decided>
    ),
    -- <takes>
      warm_up_taken as (
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
      where (limit_settings ->> 'pacing_per_minute')::int <> 0 or exists (
        select from domain_paces o where o.domain_id = taken.domain_id and o.account_id = (select id from account))
      group by 1 order by 1
      on conflict (domain_id) do update set minute = excluded.minute,
        used = case when p.minute >= excluded.minute then p.used else 0 end + excluded.used
    ), allowance_taken as (
      insert into allowance_buckets (account_id, bucket, used)
      select (select id from account), date_bin('10 minutes', now(), timestamptz '2000-01-01 00:00Z'), count(*)
      from (select * from decided where held_by is null and allowance_takes_place) taken having count(*) > 0
      on conflict (account_id, bucket) do update set used = allowance_buckets.used + excluded.used
    ), wallet_priced as materialized (
      select q.message_id, q.channel, case when q.channel = 'email'
        then case when q.wallet_place <= wallet.free then 0 else wallet.email_price end
        else case when q.price_country = '*' then wallet.least_text
        else (wallet.sms_prices ->> q.price_country)::bigint end * coalesce(q.price_units, 1) end as millicents,
        case when q.channel = 'email' then 1 else coalesce(q.price_units, 1) end as units,
        q.channel = 'email' and q.wallet_place <= wallet.free as free
      from wallet cross join (select * from (select * from decided where held_by is null and wallet_takes_place) taken) q
      where case q.channel when 'email' then wallet.email_price > 0 else wallet.sms_prices is not null end
    ),
      wallet_prices as materialized (select jsonb_object_agg(message_id, jsonb_build_array(millicents, units)) as by_id
      from wallet_priced
    ), wallet_taken as (
      insert into account_months as s (account_id, month, email_units, free_units, sms_units, spent_millicents)
      select (select id from account), current_month(), coalesce(sum(units) filter (where channel = 'email'), 0),
        count(*) filter (where free), coalesce(sum(units) filter (where channel = 'sms'), 0),
        coalesce(sum(millicents), 0)
      from wallet_priced having count(*) > 0
      on conflict (account_id, month) do update set email_units = s.email_units + excluded.email_units,
        free_units = s.free_units + excluded.free_units, sms_units = s.sms_units + excluded.sms_units,
        spent_millicents = s.spent_millicents + excluded.spent_millicents
    ),
    -- </takes>
    claimed as (
      update send_queue q set owner = process, claim_epoch = q.claim_epoch + 1, held = false
        -- <reserves>
        , reserved_bucket = case when (q.reserved_bucket is null) and not (q.queued_at < now() - interval '72 hours')
          and not (q.domain_id is not null
            and (select d.id from domains d where d.id = q.domain_id) is null) then date_bin('10 minutes', now(),
            timestamptz '2000-01-01 00:00Z')
          else q.reserved_bucket end
        , price_month = case when (q.price_month is null) and not (q.queued_at < now() - interval '72 hours')
          and not (q.domain_id is not null and (select d.id from domains d where d.id = q.domain_id) is null) then case
          when (select by_id from wallet_prices) ? q.message_id::text then current_month() end else q.price_month end
        , price_millicents = case when (q.price_month is null) and not (q.queued_at < now() - interval '72 hours')
          and not (q.domain_id is not null
            and (select d.id from domains d where d.id = q.domain_id) is null) then ((select by_id
            from wallet_prices) -> q.message_id::text ->> 0)::bigint
          else q.price_millicents end
        , price_units = case when (q.price_month is null) and not (q.queued_at < now() - interval '72 hours')
          and not (q.domain_id is not null
            and (select d.id from domains d
            where d.id = q.domain_id) is null) then coalesce(((select by_id
              from wallet_prices) -> q.message_id::text ->> 1)::smallint,
            q.price_units)
          else q.price_units end
        -- </reserves>
      where q.message_id = any(array(select message_id from decided where held_by is null))
      returning q.message_id, q.claim_epoch, q.content_bytes, q.content_weight, q.connection_losses
    ), held as (
      -- <held>
      select message_id, with_backlog,
        case when with_backlog then expires_at else least(coalesce(ends_at, recheck_at), expires_at) end as due,
        jsonb_build_object('reason', held_by, 'until', case when ends_at is not null then least(ends_at, expires_at) end)
        as hold
      from (
        select q.message_id, q.held_by, queued_at + interval '72 hours' + interval '1 second' as expires_at,
          coalesce(q.held_by in (null, 'account_paused', 'allowance', 'spend_cap', 'wallet'), false) as with_backlog,
          case q.held_by when 'account_paused' then null::timestamptz when 'domain_unverified' then null::timestamptz
          when 'warm_up' then (((now() at time zone 'utc')::date + 1)::timestamp at time zone 'utc')
          when 'pacing' then date_trunc('minute', now()) + interval '1 minute' * (1 + (q.pacing_place - 1)
            / greatest(1, coalesce((pacing.paces ->> q.domain_id::text)::int, pacing.others, 1)))
          when 'allowance' then coalesce(allowance.resets_at,
            now() + case when allowance.remaining > 0 then interval '24 hours 10 minutes' else interval '10 minutes' end)
          when 'spend_cap' then ((current_month() + interval '1 month') at time zone 'utc')
          when 'wallet' then null::timestamptz end as ends_at,
          case q.held_by when 'account_paused' then now() + interval '5 minutes'
          when 'domain_unverified' then now() + interval '6 hours' when 'warm_up' then null::timestamptz
          when 'pacing' then null::timestamptz when 'allowance' then null::timestamptz
          when 'spend_cap' then now() + interval '5 minutes' when 'wallet' then now() + interval '5 minutes' end as recheck_at
        from decided q cross join account a cross join warm_up cross join pacing cross join allowance cross join spend_cap
        cross join wallet where q.held_by is not null) held
      -- </held>
    )
    select array_agg(q.message_id), array_agg(q.claim_epoch), array_agg(q.content_bytes), array_agg(q.content_weight),
      array_agg(q.connection_losses),
      (select jsonb_object_agg(h.message_id, to_jsonb(h)) from held h), (select bool_or(h.with_backlog) from held h)
    into claimed_ids, epochs, sizes, weights, losses, holds, held_with_backlog
    from (select * from claimed order by message_id) q;
  end if;

  if holds is not null then
    held_ids := array(select key::bigint from jsonb_object_keys(holds) as k (key));
    -- Skips messages that are locked: a recorder that has locked one wants its queue row next, which we have locked.
    marked_ids := array(select h.id from hold_messages(holds) as h (id));
    update send_queue q set due_at = now() + interval '5 seconds'
    where q.message_id = any(array(select unnest(held_ids) except select unnest(marked_ids)));
    update send_queue q set due_at = (holds -> q.message_id::text ->> 'due')::timestamptz,
      held = (holds -> q.message_id::text ->> 'with_backlog')::boolean
    where q.message_id = any(marked_ids);
    if held_with_backlog then
      -- The row is locked even if it stays as it is, so that a release that finds no message does not remove it. The
      -- limit may have ended while the claim ran, so senders check again soon.
      insert into held_backlogs as h (account_id, channel, class, provider_id, recheck_at)
      values (of_account, of_channel, of_class, of_provider, now() + interval '30 seconds')
      on conflict (account_id, channel, class, provider_id) do update set recheck_at = excluded.recheck_at
        where h.recheck_at > excluded.recheck_at;
    end if;
  end if;
  if
    -- <has_letters>
    of_channel like 'email\_%'
    -- </has_letters>
  then
    files := array(
      select q.file_bytes from unnest(claimed_ids) with ordinality as c (id, n) cross join lateral (
        select s.file_bytes from send_queue s where s.message_id = c.id) q order by c.n);
  end if;
  if claimed_ids is null then
    return query select cardinality(ids), null::bigint, null::int, null::int, null::int, null::int, null::int;
  end if;
  return query
    select cardinality(ids), c.* from unnest(claimed_ids, epochs, sizes, weights, losses, files)
      as c (message_id, claim_epoch, content_bytes, content_weight, connection_losses, file_bytes);
end $$;
