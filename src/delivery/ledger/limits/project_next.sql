-- Projects what the limits decide about the next email of an account, if no other message is waiting: they decide on a row
-- of the queue that is never written. Returns the limit that refuses a transactional email, the holds of transactional
-- and marketing email, and what the account has left of each limit that refuses messages at accept.
--
-- sent by: projectNext
-- $1 bigint: the account
-- $2 bigint: the domain of the sender, or null
-- $3 jsonb: the settings of the limits
-- locks: nothing
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
      select nullif(($3::jsonb ->> 'pacing_per_minute')::int, 0) as others, min(pace) as pace,
        coalesce(max(used), 0) as used,
        min(pace - used) as left_over,
        jsonb_object_agg(domain_id, coalesce(pace - used, 2147483647)) filter (where domain_id is not null) as by_domain,
        jsonb_object_agg(domain_id, pace) filter (where pace is not null) as paces
      from (
        select p.domain_id, nullif(coalesce(p.per_minute, ($3::jsonb ->> 'pacing_per_minute')::int), 0) as pace,
          case when p.minute >= date_trunc('minute', now()) then p.used else 0 end as used
        from domain_paces p where p.account_id = a.id) p) f) f
), allowance as materialized (select f.* from account a cross join lateral (
    select "limit", used, case when a.kind = 'system' then 2147483647 else "limit" - used end as remaining, resets_at
    from (
      select coalesce(a.allowance_per_day, case a.tier
          when 'free' then ($3::jsonb ->> 'allowance_free')::int
          when 'paid' then ($3::jsonb ->> 'allowance_paid')::int
          else ($3::jsonb ->> 'allowance_trusted')::int end) as "limit",
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
            when 'free' then ($3::jsonb ->> 'monthly_emails_free')::int
            when 'paid' then ($3::jsonb ->> 'monthly_emails_paid')::int
            else ($3::jsonb ->> 'monthly_emails_trusted')::int end) - coalesce((
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
            when 'free' then ($3::jsonb ->> 'monthly_emails_free')::int
            when 'paid' then ($3::jsonb ->> 'monthly_emails_paid')::int
            else ($3::jsonb ->> 'monthly_emails_trusted')::int end) - coalesce((
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
select
  (
    with picked as (
      select q.* from jsonb_populate_record(null::send_queue, jsonb_build_object(
        'message_id', 1, 'account_id', $1::bigint, 'domain_id', $2::bigint, 'channel', 'email', 'class', 0,
        'provider_id', 0, 'queued_at', now(), 'due_at', now())) q
    ), decided as materialized (
      -- <refusing_decided>
      select q.*, case when q.spend_cap_applies then 'spend_cap' when q.wallet_applies then 'wallet' end as held_by from (
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
          from (select q.*, (q.price_month is null) and not q.spend_cap_applies as wallet_takes_place from (
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
                from (select q.*, (q.price_month is null) as spend_cap_takes_place
                  from (select q.* from picked q cross join account a) q) q
                cross join spend_cap
              ) q cross join spend_cap) q) q cross join wallet
        ) q cross join wallet) q
      -- </refusing_decided>
    )
    select held_by from decided) as refused_by,
  (
    with picked as (
      select q.* from jsonb_populate_record(null::send_queue, jsonb_build_object(
        'message_id', 1, 'account_id', $1::bigint, 'domain_id', $2::bigint, 'channel', 'email', 'class', 0,
        'provider_id', 0, 'queued_at', now(), 'due_at', now())) q
    ), decided as materialized (
      -- <transactional_decided>
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
      -- </transactional_decided>
    )
    select hold from (
      -- <transactional_held>
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
      -- </transactional_held>
    ) h) as transactional,
  (
    with picked as (
      select q.* from jsonb_populate_record(null::send_queue, jsonb_build_object(
        'message_id', 1, 'account_id', $1::bigint, 'domain_id', $2::bigint, 'channel', 'email', 'class', 1,
        'provider_id', 0, 'queued_at', now(), 'due_at', now())) q
    ), decided as materialized (
      -- <marketing_decided>
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
      -- </marketing_decided>
    )
    select hold from (
      -- <marketing_held>
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
      -- </marketing_held>
    ) h) as marketing,
  json_build_array(
    -- <left>
    case when a.kind = 'customer' then (select remaining from (
      select cap as "limit", used, cap - used as remaining,
        (date_trunc('month', now() at time zone 'utc') + interval '1 month') at time zone 'utc' as resets_at
      from (
        select coalesce(a.sandbox_monthly_cap, ($3::jsonb ->> 'sandbox_monthly_cap')::int) as cap,
          coalesce((
            select used from sandbox_usage
            where account_id = a.id and month = date_trunc('month', now() at time zone 'utc')::date),
            0) as used) s) sandbox) end
    -- </left>
  ) as "left"
from account a
