-- Picks and locks due blocks of an account's active campaigns for one provider, and holds those to which a limit applies.
-- It serves the brand that was served longest ago, within the brand the campaign that was served longest ago, and within
-- the campaign the block that is due first. A throttled campaign has no due block until its next recipients may go. The
-- limits decide on a block as on a queue row; a held block is due again when its limit ends.
--
-- sent by: pickBlocks
-- $1 bigint: the process
-- $2 bigint: the account
-- $3 text: the channel
-- $4 bigint: the provider
-- $5 jsonb: the settings of the limits
-- $6 int: the maximum number of blocks
-- locks: the row of the process in processes, then campaign_blocks; locked blocks are skipped
with alive as materialized (
  select id from processes where id = $1 for key share
), account as materialized (
  select * from accounts where id = $2
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
), sandbox_cap as materialized (select f.* from account a cross join lateral (
    select cap as "limit", used, cap - used as remaining,
      (date_trunc('month', now() at time zone 'utc') + interval '1 month') at time zone 'utc' as resets_at
    from (
      select coalesce(a.sandbox_monthly_cap, ($5::jsonb ->> 'sandbox_monthly_cap')::int) as cap,
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
, sending as materialized (
  select c.id, c.version_ids, t.claimed_at, r.claimed_at as brand_claimed_at
  from campaigns c left join campaign_turns t on t.campaign_id = c.id
  left join brand_turns r on r.brand_id = c.brand_id and r.channel = $3 and r.provider_id = $4
  where c.account_id = $2 and c.status = 'active' and c.approval_state <> 'pending'
    and c.phase in ('snapshot', 'sending')
    and (t.next_free_at is null or t.next_free_at <= now() or c.options ->> 'throttle_per_minute' is null)
    -- The fence, as in a claim of queue rows.
    and (select id from alive) is not null
), first_due as materialized (
  -- A campaign may have many due blocks: of each, the first are read from the index, and some more than are wanted,
  -- because other transactions may have locked some.
  select b.campaign_id, b.n, c.version_ids, c.claimed_at, c.brand_claimed_at
  from sending c cross join lateral (
    select b.campaign_id, b.n from campaign_blocks b
    where b.campaign_id = c.id and b.owner is null and b.closed_at is null and b.due_at <= now() and b.channel = $3
      and b.provider_id = $4
    order by b.due_at, b.n limit $6::int + 50) b
), picked as materialized (
  select b.campaign_id, b.n, b.first_id, b.last_id, b.claim_epoch, b.sandbox_reserved, b.variant, f.version_ids,
    -- <columns>
    case when b.reserved_bucket > now() - interval '24 hours 10 minutes' then b.reserved
    else 0 end as reserved, b.first_id as message_id, now() as queued_at, b.domain_id, case
    when b.reserved_bucket > now() - interval '24 hours 10 minutes' then b.reserved_bucket end as reserved_bucket,
    2::smallint as class, b.channel, b.sandbox_month, b.price_month, '*' as price_country, null::int as price_units
    -- </columns>
  from first_due f join campaign_blocks b on b.campaign_id = f.campaign_id and b.n = f.n
  where b.owner is null and b.closed_at is null and b.due_at <= now() and b.channel = $3 and b.provider_id = $4
  order by f.brand_claimed_at nulls first, f.claimed_at nulls first, b.due_at, b.campaign_id, b.n
  limit $6 for update of b skip locked
), decided as materialized (
  -- <decided>
  select q.*, case when q.expired_applies then null when q.account_paused_applies then 'account_paused'
    when q.domain_unverified_applies then 'domain_unverified' when q.warm_up_applies then 'warm_up'
    when q.pacing_applies then 'pacing' when q.allowance_applies then 'allowance'
    when q.sandbox_cap_applies then 'sandbox_cap' when q.spend_cap_applies then 'spend_cap'
    when q.wallet_applies then 'wallet' end as held_by
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
      from (select q.*, (q.price_month is null) and not q.expired_applies and not q.account_paused_applies
          and not q.domain_unverified_applies and not q.warm_up_applies and not q.pacing_applies and not q.allowance_applies
          and not q.sandbox_cap_applies and not q.spend_cap_applies as wallet_takes_place
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
            from (select q.*, (q.price_month is null) and not q.expired_applies and not q.account_paused_applies
                and not q.domain_unverified_applies and not q.warm_up_applies and not q.pacing_applies
                and not q.allowance_applies and not q.sandbox_cap_applies as spend_cap_takes_place
              from (
                select q.*,
                  (q.sandbox_cap_takes_place and (true)
                    and q.sandbox_cap_place > (sandbox_cap.remaining)) is true as sandbox_cap_applies
                from (
                  select q.*,
                    row_number() over (partition by q.sandbox_cap_takes_place order by q.message_id) as sandbox_cap_place
                  from (select q.*,
                      (q.channel = 'email' and q.domain_id is null and q.sandbox_month is distinct
                      from date_trunc('month', now() at time zone 'utc')::date)
                      and not q.expired_applies and not q.account_paused_applies and not q.domain_unverified_applies
                      and not q.warm_up_applies and not q.pacing_applies
                      and not q.allowance_applies as sandbox_cap_takes_place
                    from (
                      select q.*,
                        (q.allowance_takes_place and (true)
                          and q.allowance_place > (allowance.remaining)) is true as allowance_applies
                      from (
                        select q.*,
                          row_number() over (partition by q.allowance_takes_place order by q.message_id) as allowance_place
                        from (select q.*, (q.reserved_bucket is null) and not q.expired_applies
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
                                  and not q.expired_applies and not q.account_paused_applies
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
                                        and not q.expired_applies and not q.account_paused_applies
                                        and not q.domain_unverified_applies as warm_up_takes_place
                                      from (select q.*,
                                          (q.queued_at < now() - interval '72 hours') is true as expired_applies,
                                          (a.sending_paused_at is not null) is true as account_paused_applies,
                                          ((q.domain_id is not null
                                              and (select d.status from domains d where d.id = q.domain_id) is distinct
                                            from 'verified')) is true as domain_unverified_applies
                                        from picked q cross join account a) q) q
                                  ) q cross join warm_up) q) q
                            ) q cross join pacing) q) q
                      ) q cross join allowance) q) q
                ) q cross join sandbox_cap) q) q cross join spend_cap
          ) q cross join spend_cap) q) q cross join wallet
    ) q cross join wallet) q
  -- </decided>
), holds as materialized (
  -- <held>
  select message_id, with_backlog,
    case when with_backlog then expires_at else least(coalesce(ends_at, recheck_at), expires_at) end as due,
    jsonb_build_object('reason', held_by, 'until', case when ends_at is not null then least(ends_at, expires_at) end)
    as hold
  from (
    select q.message_id, q.held_by, queued_at + interval '72 hours' + interval '1 second' as expires_at,
      coalesce(q.held_by in (null, 'account_paused', 'allowance', 'sandbox_cap', 'spend_cap', 'wallet'),
        false) as with_backlog,
      case q.held_by when 'account_paused' then null::timestamptz when 'domain_unverified' then null::timestamptz
      when 'warm_up' then (((now() at time zone 'utc')::date + 1)::timestamp at time zone 'utc')
      when 'pacing' then date_trunc('minute', now()) + interval '1 minute' * (1 + (q.pacing_place - 1)
        / greatest(1, coalesce((pacing.paces ->> q.domain_id::text)::int, pacing.others, 1)))
      when 'allowance' then coalesce(allowance.resets_at,
        now() + case when allowance.remaining > 0 then interval '24 hours 10 minutes' else interval '10 minutes' end)
      when 'sandbox_cap' then sandbox_cap.resets_at
      when 'spend_cap' then ((current_month() + interval '1 month') at time zone 'utc')
      when 'wallet' then null::timestamptz end as ends_at,
      case q.held_by when 'account_paused' then now() + interval '5 minutes'
      when 'domain_unverified' then now() + interval '6 hours' when 'warm_up' then null::timestamptz
      when 'pacing' then null::timestamptz when 'allowance' then null::timestamptz when 'sandbox_cap' then null::timestamptz
      when 'spend_cap' then now() + interval '5 minutes' when 'wallet' then now() + interval '5 minutes' end as recheck_at
    from decided q cross join account a cross join warm_up cross join pacing cross join allowance cross join sandbox_cap
    cross join spend_cap cross join wallet where q.held_by is not null) held
  -- </held>
), held as (
  update campaign_blocks b set hold_reason = h.hold ->> 'reason',
    due_at = greatest(now() + interval '10 seconds', coalesce((h.hold ->> 'until')::timestamptz,
      case when h.with_backlog then now() + interval '5 minutes' else h.due end))
  from decided d join holds h using (message_id)
  where d.held_by is not null and b.campaign_id = d.campaign_id and b.n = d.n
)
select q.campaign_id as "campaignId", q.n, q.first_id as "firstId", q.last_id as "lastId", q.claim_epoch as epoch,
  q.reserved, q.channel,
  -- <sandbox_room>
    case when q.channel = 'email' and q.domain_id is null and q.sandbox_month is distinct
  from date_trunc('month', now() at time zone 'utc')::date then sandbox_cap.remaining end
  -- </sandbox_room>
  as "sandboxRoom", q.sandbox_month::text as "sandboxMonth", q.sandbox_reserved as "sandboxReserved",
  -- <paid>
  q.price_month is not null or not wallet.pays or q.channel = 'sms' and wallet.sms_prices is null
  -- </paid>
  as paid,
  case when spend_cap.remaining < wallet.remaining then 'spend_cap' else 'wallet' end as scarcer,
  q.held_by is not null as held,
  -- <room>
  least(2147483647, case
    when (q.reserved_bucket is null and q.domain_id is not null) then (warm_up.by_domain ->> q.domain_id::text)::int end,
    case
    when (q.reserved_bucket is null
      and q.domain_id is not null) then coalesce((pacing.by_domain ->> q.domain_id::text)::int, pacing.others) end,
    case
    when (q.reserved_bucket is null) then allowance.remaining end)::int
  -- </room>
  as room,
  -- <affordable>
  least(2147483647, case when (q.price_month is null) then case q.channel when 'email' then spend_cap.emails
    else spend_cap.texts end end, case when (q.price_month is null) then case q.channel when 'email' then wallet.emails
    else wallet.texts end end)::int
  -- </affordable>
  as affordable,
  coalesce((select octet_length(v.html) + coalesce(octet_length(v.text), 0) from template_versions v
    where v.id = q.version_ids[q.variant + 1]), 0)::int as bytes
from decided q
-- <joins>
cross join warm_up cross join pacing cross join allowance cross join sandbox_cap cross join spend_cap cross join wallet
-- </joins>
