-- Writes what reports of providers change in messages that the caller has locked, and all that follows but the events.
-- Most reports say that a message was delivered: for them, the message, its history and the figures change. The other
-- parts run only if a message needs them.
--
-- sent by: writeChanges
-- changes: the messages that change, as a table with their new columns
-- history: the rows of message_events, as a table
-- leaving: the messages whose wait in the queue ends
-- unsent: those of them that were not sent, and get back what they have reserved
-- of_contacts: whether recipients may be contacts
-- of_flows: the messages of flows that change, or null
-- settles: whether a message is sent, fails, or is charged from now on or no longer
-- suppresses: whether addresses may be suppressed
-- locks: messages, which the caller has locked by id; then, in the order of record_outcomes.sql and of the statements that
--   end claims of blocks: contacts by id, contact_channel_counts by contact, soft_bounces and suppressions by account and
--   address, account_outcomes by account, campaign_blocks by campaign and number, send_queue, account_months by account
--   and month, allowance_buckets by account and bucket
-- sees: the messages are locked, so nothing else changes them between two queries, and those after the first see them as
--   it has left them. So a delivery ends a series of soft bounces even if both are reported at once. The segments of a
--   text are read from its queue row before that is removed. Charges that the reaper has stored since the caller locked
--   the messages are seen when they leave the queue
-- partitions: messages, message_events
create function record_facts(
  changes json, history json, leaving bigint[], unsent bigint[], of_contacts boolean, of_flows bigint[],
  settles boolean, suppresses boolean)
returns boolean
language plpgsql as $$
declare
  -- Messages of flows as they were.
  before messages[];
  -- The messages of campaigns whose blocks have to be counted again.
  campaigns bigint[];
  tallied bigint[];
  is_done boolean;
begin
  if of_flows is not null then
    before := array(select m from messages m where m.id = any(of_flows) order by m.id);
  end if;

  with input as (
    select * from json_to_recordset(changes) as i (
      "messageId" bigint, status text, attempt smallint, provider text, "providerMessageId" text, "sentAt" timestamptz,
      "sentAttempt" smallint, "deliveredAt" timestamptz, response text, failure jsonb, bounce jsonb, "sentNow" boolean,
      "failedNow" boolean, "deliveredNow" boolean, "firstBouncedAt" timestamptz, "complainedAt" timestamptz,
      unsent boolean, uncounted boolean)
  ), updated as (
    update messages m set
      status = i.status,
      attempt_count = greatest(m.attempt_count, i.attempt),
      sent_at = coalesce(m.sent_at, i."sentAt"),
      delivered_at = coalesce(m.delivered_at, i."deliveredAt"),
      bounced_at = coalesce(m.bounced_at, i."firstBouncedAt"),
      complained_at = coalesce(m.complained_at, i."complainedAt"),
      provider = i.provider, provider_message_id = i."providerMessageId", sent_attempt = i."sentAttempt",
      response = i.response, failure = i.failure, bounce = i.bounce, hold = null, updated_at = now(),
      unsent_at = case when i.unsent then coalesce(m.unsent_at, now()) else m.unsent_at end,
      contact_id = case when of_contacts then
          -- <contact>
          coalesce(m.contact_id, case m.channel
            when 'email' then (select c.id from contacts c where c.brand_id = m.brand_id and c.email_key = m.to_key)
            else (select c.id from contacts c where c.brand_id = m.brand_id and c.phone = m.to_key) end)
          -- </contact>
        else m.contact_id end,
      segments =
        -- <segments>
        coalesce(least(m.segments, null::smallint), case when m.channel = 'sms' and i.uncounted then coalesce(
            (select nullif(q.price_units, 0) from send_queue q where q.message_id = m.id),
            (select (b.price_list -> m.id::text ->> 1)::smallint from (
              select price_list, first_id from campaign_blocks
              where campaign_id = m.campaign_id and last_id >= m.id order by campaign_id, last_id limit 1) b
            where b.first_id <= m.id),
            (select v.segments from template_versions v where v.id = m.content_version_id)) end)
        -- </segments>
    from input i where m.id = i."messageId"
    returning m.id, m.brand_id, m.channel, m.class, m.campaign_id, m.test, m.status, m.bounce, m.sent_at, m.delivered_at,
      m.bounced_at, m.complained_at, i."sentNow" as sent_now, i."failedNow" as failed_now,
      i."deliveredNow" as delivered_now, i."firstBouncedAt" is not null as bounced_now,
      i."complainedAt" is not null as complained_now
  ), events as (
    insert into message_events (message_id, attempt, type, occurred_at, data)
    select e."messageId", e.attempt, e.type, e."occurredAt", jsonb_strip_nulls(jsonb_build_object(
      'provider', e.provider, 'response', e.response, 'failure', e.failure, 'bounce', e.bounce))
    from json_to_recordset(history) as e (
      "messageId" bigint, attempt smallint, type text, "occurredAt" timestamptz, provider text, response text,
      failure jsonb, bounce jsonb)
    on conflict do nothing
  )
  -- <stats>
  , stats_counted as (
    insert into stat_changes (brand_id, slot, source, channel, name, message_id, count)
    select u.brand_id, date_bin('15 minutes', f.at, '2000-01-01 00:00+00'::timestamptz), case u.class
      when 2 then 'campaign' when 1 then 'flow' else 'api' end, u.channel, f.name,
      case when u.id > (select reached_id from older_stats) and u.id <= (select last_id from older_stats) then u.id end,
      count(*)
    from updated u cross
    join lateral (values ('sent', u.sent_at, u.sent_now), ('delivered', u.delivered_at, u.delivered_now),
        ('bounced', u.bounced_at, u.bounced_now), ('complained', u.complained_at, u.complained_now)) as f (name, at, is_new)
    where f.is_new and not u.test group by 1, 2, 3, 4, 5, 6
  )
  -- </stats>
  -- The delivery of a message that was sent does not change the tallies of its block.
  select array_agg(campaign_id), array_agg(id) into campaigns, tallied from updated
  where campaign_id is not null and (sent_now or failed_now or bounce is not null or status = 'complained');

  if before is not null then
    with updated as (
      select m.*, b.status as was_status, b.sent_at as was_sent_at, b.delivered_at as was_delivered_at,
        b.bounce as was_bounce
      from unnest(before) b join messages m on m.id = b.id where m.id = any(of_flows)
    )
    -- <flow_counts>
    , flow_messages_counted as (
      insert into flow_count_changes (flow_id, step_id, name, change, at)
      select u.flow_id, coalesce(u.flow_step_id, 0), v.name, sum(v.change), coalesce(u.sent_at, u.updated_at)
      from updated u cross join lateral (values
          ('sent', (u.sent_at is not null)::int - (u.was_sent_at is not null)::int),
          ('delivered', (u.delivered_at is not null)::int - (u.was_delivered_at is not null)::int),
          ('attempted',
            (u.channel = 'email' and (u.sent_at is not null or u.status = 'bounced'))::int - (u.channel = 'email'
              and (u.was_sent_at is not null or u.was_status = 'bounced'))::int),
          ('hard_bounced',
            coalesce(u.channel = 'email' and u.bounce ->> 'type' = 'hard', false)::int - coalesce(u.channel = 'email'
              and u.was_bounce ->> 'type' = 'hard', false)::int),
          (u.status,
            (u.status in ('bounced', 'complained', 'failed', 'unknown', 'skipped', 'canceled')
              and u.status <> u.was_status)::int),
          (u.was_status,
            -(u.was_status in ('bounced', 'complained', 'failed', 'unknown', 'skipped', 'canceled')
              and u.status <> u.was_status)::int)) as v (name,
          change)
      where u.flow_id is not null and not u.test and v.change <> 0
      group by 1, 2, 3, 5
    )
    -- </flow_counts>
    select true into is_done;
  end if;

  if settles or suppresses then
    with updated as materialized (
      select m.id, m.account_id, m.brand_id, m.contact_id, m.channel, m.test, m.to_key, m.provider, m.bounce, m.segments,
        m.sent_at, m.unknown_at, m.unsent_at, m.updated_at, i."sentNow" as sent_now, i."failedNow" as failed_now,
        i.suppress as suppression, i.counted, i."bouncedAt" as suppressed_at
      from json_to_recordset(changes) as i ("messageId" bigint, "sentNow" boolean, "failedNow" boolean, suppress text,
        counted boolean, "bouncedAt" timestamptz)
      cross join lateral (select * from messages m where m.id = i."messageId" offset 0) m
    )
    -- <suppressions>
    , suppression_reports as materialized (
      select u.account_id, u.to_key as address_key, u.channel, u.suppression as reason, u.provider as source_provider,
        case when u.suppression <> 'complaint' then u.bounce ->> 'diagnostic' end as diagnostic,
        u.suppressed_at as occurred_at, u.counted
      from updated u where u.suppression is not null
    ), soft_bounced as (
      insert into soft_bounces as b (account_id, address_key, count, last_at)
      select account_id, address_key, least(count(*), 3), max(occurred_at) from suppression_reports
      where reason = 'soft_bounce' and address_key is not null group by 1, 2 order by 1, 2
      on conflict (account_id, address_key) do update set
        count = excluded.count + case
        when b.count >= 3 or reached_since(b.account_id, b.address_key, b.last_at) then 0
        else b.count end,
        last_at = greatest(b.last_at, excluded.last_at)
      returning account_id, address_key, count
    ), suppressed as (
      insert into suppressions as s
        (account_id, address_key, email, phone, reason, source_provider, diagnostic, expires_at)
      select distinct on (r.account_id, r.address_key) r.account_id, r.address_key,
        case r.channel when 'email' then r.address_key end, case r.channel when 'sms' then r.address_key end,
        r.reason, r.source_provider, left(r.diagnostic, 500), r.expires_at
      from (
        select r.account_id, r.address_key, r.channel, r.reason, r.source_provider, r.diagnostic,
          null::timestamptz as expires_at
        from suppression_reports r where r.reason <> 'soft_bounce'
        union all
        select r.account_id, r.address_key, r.channel, r.reason, r.source_provider, r.diagnostic, now() + interval '7 days'
        from suppression_reports r join soft_bounced b using (account_id, address_key)
        where r.reason = 'soft_bounce' and b.count >= 3) r where r.address_key is not null
      order by r.account_id, r.address_key, r.expires_at desc nulls first, r.reason in ('hard_bounce', 'complaint') desc
      on conflict (account_id, address_key) do update set
        id = case when (s.released_at is not null or coalesce(s.expires_at, 'infinity') <= now()) then excluded.id
        else s.id end, created_at = case
        when (s.released_at is not null or coalesce(s.expires_at, 'infinity') <= now()) then excluded.created_at
        else s.created_at end, email = excluded.email, phone = excluded.phone,
        reason = case when s.reason in ('hard_bounce', 'complaint') and not excluded.reason in ('hard_bounce', 'complaint')
        and not (s.released_at is not null or coalesce(s.expires_at, 'infinity') <= now())
        then s.reason else excluded.reason end, source_provider = case when s.reason in ('hard_bounce', 'complaint')
        and not excluded.reason in ('hard_bounce', 'complaint')
        and not (s.released_at is not null or coalesce(s.expires_at, 'infinity') <= now())
        then s.source_provider else excluded.source_provider end, diagnostic = case
        when s.reason in ('hard_bounce', 'complaint') and not excluded.reason in ('hard_bounce', 'complaint')
        and not (s.released_at is not null or coalesce(s.expires_at, 'infinity') <= now())
        then s.diagnostic else excluded.diagnostic end,
        expires_at = case
        when (s.released_at is not null or coalesce(s.expires_at, 'infinity') <= now()) then excluded.expires_at
        else nullif(greatest(coalesce(s.expires_at, 'infinity'), coalesce(excluded.expires_at, 'infinity')), 'infinity') end,
        released_at = null
      where (s.released_at is not null or coalesce(s.expires_at, 'infinity') <= now())
        or (s.expires_at is not null and (excluded.expires_at is null or excluded.expires_at > s.expires_at))
        or (excluded.reason in ('hard_bounce', 'complaint') and not s.reason in ('hard_bounce', 'complaint'))
      returning s.account_id, s.address_key, s.email, s.reason, s.created_at
    ), newly_suppressed as (
      -- A row that replaces an active one keeps its time.
      select s.account_id, s.email, s.reason from suppressed s
      where s.created_at = now() and exists (
        select 1 from suppression_reports r
        where r.account_id = s.account_id and r.address_key = s.address_key and r.reason = s.reason and r.counted)
    )
    -- </suppressions>
    -- <contacts>
    , contacted as materialized (
      select u.id as message_id, u.brand_id, u.contact_id, u.channel, u.sent_at, sent_now as sent_now,
        coalesce(failed_now, false) as failed_now
      from updated u where u.contact_id is not null and not u.test
    ),
      locked_contacts as materialized (select id from contacts where id = any(array(select contact_id from contacted))
      order by id for key share skip locked
    ), engaged as (
      insert into contact_engagement (brand_id, contact_id, message_id, kind, created_at)
      select brand_id, contact_id, message_id, 0, sent_at
      from contacted where sent_now and channel = 'email' and (contact_id in (select id from locked_contacts)) is true
    ), contact_counts as (
      insert into contact_channel_counts as c (contact_id, channel, sent_count, fail_count)
      select contact_id, channel, count(*) filter (where sent_now), count(*) filter (where failed_now)
      from contacted where (sent_now or failed_now) and (contact_id in (select id from locked_contacts)) is true
      group by contact_id, channel order by contact_id, channel
      on conflict (contact_id, channel) do update set
        sent_count = c.sent_count + excluded.sent_count, fail_count = c.fail_count + excluded.fail_count
      returning 1
    )
    -- </contacts>
    -- <outcomes>
    , usage_counted as (
      insert into usage_changes (account_id, month, email_used, sms_used, email_sent, sms_sent)
      select account_id, month, coalesce(sum(charge) filter (where email), 0),
        coalesce(sum(charge * units) filter (where not email), 0), count(*) filter (where email and sent_now),
        count(*) filter (where not email and sent_now)
      from (
        select u.account_id, u.channel = 'email' as email, coalesce(u.segments, 1) as units, u.is_sent_now as sent_now,
          case
          when u.unsent_at = u.updated_at then case when u.unknown_at < u.updated_at then -1 else 0 end
          when u.unsent_at is null and (u.unknown_at = u.updated_at or u.unknown_at is null and u.is_sent_now) then 1
          else 0 end as charge, date_trunc('month', coalesce(u.unknown_at, u.sent_at) at time zone 'utc')::date as month
        from (select m.*, sent_now as is_sent_now from updated m where not m.test or m.channel = 'sms') u
        where u.is_sent_now or u.unknown_at = u.updated_at or u.unsent_at = u.updated_at) c
      where charge <> 0 or sent_now group by account_id, month
    ), sums as (
      select account_id, count(*) filter (where attempted) as attempted,
        count(*) filter (where reason = 'hard_bounce') as hard_bounces,
        count(*) filter (where reason = 'complaint') as complaints
      from (
        select account_id, sent_now as attempted, null as reason
        from updated where channel = 'email' and not test
        union all
        select account_id, false, reason from newly_suppressed where email is not null
      ) o where (select count(*) from contact_counts) >= 0 group by account_id
    ), outcomes_counted as (
      insert into account_outcomes as o (account_id, hour, attempted, hard_bounces, complaints)
      select account_id, date_trunc('hour', now(), 'UTC'), attempted, hard_bounces, complaints from sums
      where attempted + hard_bounces + complaints > 0 order by account_id
      on conflict (account_id, hour) do update set attempted = o.attempted + excluded.attempted,
        hard_bounces = o.hard_bounces + excluded.hard_bounces, complaints = o.complaints + excluded.complaints
    )
    -- </outcomes>
    select true into is_done;
  end if;

  if tallied is not null then
    with started as (select)
    -- <marked_blocks>
    , changed_blocks as materialized (
      select locked.* from (select distinct campaign_id, n from (
          select o.campaign_id, o.n from (select campaign_id, id from unnest(campaigns, tallied) as t (campaign_id, id)) u
          cross join lateral (
            select campaign_id, n, first_id from campaign_blocks
            where campaign_id = u.campaign_id and last_id >= u.id order by campaign_id, last_id limit 1) o
          where o.first_id <= u.id) as changed (campaign_id, n)
        order by campaign_id, n) k
      cross join lateral (
        select campaign_id, n, account_id, channel, price_month, price_units, free_units, unit_millicents, price_list
        from campaign_blocks b where b.campaign_id = k.campaign_id and b.n = k.n for no key update) locked
    ), block_charges as materialized (
      select b.*, p.emails, p.free, p.texts, p.charged_units, p.millicents
      from changed_blocks b cross join lateral (
        select u.emails, least(u.emails, b.free_units) as free, null::jsonb as texts, u.emails as charged_units,
          (u.emails - least(u.emails, b.free_units)) * b.unit_millicents as millicents
        from (select least(b.price_units, 0) as emails) u where b.channel = 'email'
        union all
        select 0, 0, u.texts, c.units, c.millicents
        from (select null::jsonb as texts) u cross join lateral (
          select coalesce(sum(l.units), 0)::int as units,
            coalesce(sum((l.price ->> 0)::bigint * l.units / greatest(1, (l.price ->> 1)::int)), 0)::bigint as millicents
          from (
            select b.price_list -> t.key as price,
              least((b.price_list -> t.key ->> 1)::int, coalesce(t.value::int, (b.price_list -> t.key ->> 1)::int)) as units
            from jsonb_each_text(u.texts) t where b.price_list ? t.key) l) c
        where b.channel = 'sms') p
      where b.price_month is not null
    ), marked_blocks as (
      update campaign_blocks b set recount = true, claim_epoch = greatest(b.claim_epoch, 1),
        reserved = greatest(0, b.reserved - (0)),
        price_units = b.price_units - coalesce(p.charged_units, 0), free_units = b.free_units - coalesce(p.free, 0),
        price_millicents = greatest(0, b.price_millicents - coalesce(p.millicents, 0))
      from changed_blocks c left join block_charges p using (campaign_id, n)
      where b.campaign_id = c.campaign_id and b.n = c.n
    )
    -- </marked_blocks>
    select true into is_done;
  end if;

  if cardinality(leaving) > 0 then
    with uncounted as materialized (
      select "messageId" as id from json_to_recordset(changes) as i ("messageId" bigint, uncounted boolean) where uncounted
    )
    -- <leave_queue>
    , removed as (
      delete from send_queue where message_id = any(leaving)
      returning message_id, account_id, reserved_bucket, price_month, price_millicents, price_units,
        split_part(channel, '_', 1) as channel
    ), cleared as materialized (
      select account_id, channel, null::timestamptz, month, millicents, units from take_unknown_charges(unsent)
    ), unknown_kept as (
      insert into unknown_charges (message_id, account_id, channel, month, millicents, units)
      select message_id, account_id, channel, price_month, coalesce(price_millicents, 0), price_units
      from removed where message_id = any(array(select id from uncounted)) and price_month is not null and price_units > 0
      on conflict do nothing
    ), months_returned as materialized (
      select account_id, price_month as month,
        coalesce(sum(price_units) filter (where channel = 'email'), 0) as emails,
        coalesce(sum(price_units) filter (where channel = 'email' and price_millicents = 0), 0) as free,
        coalesce(sum(price_units) filter (where channel = 'sms'), 0) as texts,
        coalesce(sum(price_millicents), 0) as millicents
      from (
        select r.account_id, r.channel, case when r.message_id = any(unsent) then r.reserved_bucket end as reserved_bucket,
          r.price_month,
          r.price_millicents * (r.price_units - k.keep) / greatest(1, r.price_units) as price_millicents,
          r.price_units - k.keep as price_units
        from removed r cross join lateral (
          select case when r.message_id = any(unsent) then 0
            else null end as keep) k
        where k.keep < r.price_units or k.keep = 0 union all select * from cleared) unsent
      where price_month is not null and (price_units > 0 or price_millicents > 0)
      group by account_id, price_month
    ), months_locked as materialized (
      select s.account_id, s.month, s.posted_at from account_months s join (
        select account_id, month from months_returned union select account_id, current_month() from months_returned
      ) r using (account_id, month) order by s.account_id, s.month for update of s
    ), months_given_back as (
      insert into account_months as s (account_id, month, email_units, free_units, sms_units, spent_millicents)
      select account_id, case when l.posted_at is null then month else current_month() end,
        -sum(r.emails), -sum(r.free), -sum(r.texts), -sum(r.millicents)
      from months_returned r left join months_locked l using (account_id, month) group by 1, 2 order by 1, 2
      on conflict (account_id, month) do update set email_units = s.email_units + excluded.email_units,
        free_units = s.free_units + excluded.free_units, sms_units = s.sms_units + excluded.sms_units,
        spent_millicents = s.spent_millicents + excluded.spent_millicents returning 1
    ), allowance_unused as materialized (
      select account_id, reserved_bucket as bucket, count(*)::int as count from (
        select r.account_id, r.channel, case when r.message_id = any(unsent) then r.reserved_bucket end as reserved_bucket,
          r.price_month,
          r.price_millicents * (r.price_units - k.keep) / greatest(1, r.price_units) as price_millicents,
          r.price_units - k.keep as price_units
        from removed r cross join lateral (
          select case when r.message_id = any(unsent) then 0
            else null end as keep) k
        where k.keep < r.price_units or k.keep = 0 union all select * from cleared) unsent
      where reserved_bucket is not null group by account_id, reserved_bucket
    ), allowance_given_back as (
      insert into allowance_buckets as b (account_id, bucket, used)
      select account_id, bucket, 0 from allowance_unused where (select count(*) from months_given_back) >= 0
      order by account_id, bucket
      on conflict (account_id, bucket) do update set used = greatest(0, b.used - (
          select u.count from allowance_unused u where u.account_id = b.account_id and u.bucket = b.bucket))
      returning 1
    )
    -- </leave_queue>
    select true into is_done;
  end if;

  return true;
end $$;
