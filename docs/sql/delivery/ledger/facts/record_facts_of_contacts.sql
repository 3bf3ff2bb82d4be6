-- Prepared as record_facts_of_contacts_6
-- Written by npm run sql: see docs/statements.md.
--
-- Writes what reports of providers change in messages that `lock_reported_messages` has locked, and all that follows.
-- This shape: recipients may be contacts; no message is of a campaign or flow.
-- Others: record_facts, record_facts_of_campaigns, record_facts_of_flows, record_facts_of_both.
-- Defined in src/delivery/ledger/facts/facts.ts, sent by writeChanges().
--
-- $1 json: the messages that change, with their new columns and the events to publish
-- $2 json: the rows of message_events
-- $3 bigint[]: the messages whose wait in the queue ends
-- $4 bigint[]: those of them that were not sent, and get back what they have reserved

with input as (
  select * from json_to_recordset($1) as i (
      "messageId" bigint, status text, attempt smallint, provider text, "providerMessageId" text, "sentAt" timestamptz,
      "sentAttempt" smallint, "deliveredAt" timestamptz, response text, failure jsonb, bounce jsonb, "sentNow" boolean,
      "failedNow" boolean,
      suppress text, counted boolean, "bouncedAt" timestamptz, "deliveredNow" boolean, "firstBouncedAt" timestamptz,
      "complainedAt" timestamptz, unsent boolean, uncounted boolean, published json)
), removed as (
  delete from send_queue where message_id = any($3)
  returning message_id, account_id, reserved_bucket, price_month, price_millicents, price_units, channel
), cleared as materialized (
  select account_id, channel, null::timestamptz, month, millicents, units from take_unknown_charges($4)
), months_returned as materialized (
  select account_id, price_month as month,
    coalesce(sum(price_units) filter (where channel = 'email'), 0) as emails,
    coalesce(sum(price_units) filter (where channel = 'email' and price_millicents = 0), 0) as free,
    coalesce(sum(price_units) filter (where channel = 'sms'), 0) as texts,
    coalesce(sum(price_millicents), 0) as millicents
  from (
    select r.account_id, r.channel, case when r.message_id = any($4) then r.reserved_bucket end as reserved_bucket,
      r.price_month,
      r.price_millicents * (r.price_units - k.keep) / greatest(1, r.price_units) as price_millicents,
      r.price_units - k.keep as price_units
    from removed r cross join lateral (
      select case when r.message_id = any($4) then 0
        else null end as keep) k
    where k.keep < r.price_units or k.keep = 0 union all select * from cleared) unsent where price_month is not null
  group by account_id, price_month
), months_locked as materialized (
  select s.account_id, s.month, s.posted_at from account_months s join (
    select account_id, month from months_returned union select account_id, current_month() from months_returned
  ) r using (account_id, month) order by s.account_id, s.month for update of s
), months_given_back as (
  insert into account_months as s (account_id, month, email_units, free_units, sms_units, spent_millicents)
  select account_id, case when l.posted_at is null then month else current_month() end,
    -sum(r.emails), -sum(r.free), -sum(r.texts), -sum(r.millicents)
  from months_returned r join months_locked l using (account_id, month) group by 1, 2 order by 1, 2
  on conflict (account_id, month) do update set email_units = s.email_units + excluded.email_units,
    free_units = s.free_units + excluded.free_units, sms_units = s.sms_units + excluded.sms_units,
    spent_millicents = s.spent_millicents + excluded.spent_millicents
), allowance_unused as (
  select account_id, reserved_bucket as bucket, count(*)::int as count from (
    select r.account_id, r.channel, case when r.message_id = any($4) then r.reserved_bucket end as reserved_bucket,
      r.price_month,
      r.price_millicents * (r.price_units - k.keep) / greatest(1, r.price_units) as price_millicents,
      r.price_units - k.keep as price_units
    from removed r cross join lateral (
      select case when r.message_id = any($4) then 0
        else null end as keep) k
    where k.keep < r.price_units or k.keep = 0 union all select * from cleared) unsent
  where reserved_bucket is not null group by account_id, reserved_bucket
), allowance_locked as (
  select b.account_id, b.bucket from allowance_buckets b join allowance_unused using (account_id, bucket)
  where (select count(*) from months_locked) >= 0 order by b.account_id, b.bucket for update of b
), allowance_given_back as (
  update allowance_buckets b set used = greatest(0, b.used - u.count)
  from allowance_unused u join allowance_locked l using (account_id, bucket)
  where b.account_id = u.account_id and b.bucket = u.bucket
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
    unsent_at = case when i.unsent then coalesce(m.unsent_at, now()) else m.unsent_at end
  , contact_id = coalesce(m.contact_id, case m.channel
      when 'email' then (select c.id from contacts c where c.brand_id = m.brand_id and c.email_key = m.to_key)
      else (select c.id from contacts c where c.brand_id = m.brand_id and c.phone = m.to_key) end)
  from input i where m.id = i."messageId"
  returning m.*, i."sentNow" as sent_now, i."failedNow" as failed_now, i.suppress as suppression, i.counted,
    i."bouncedAt" as suppressed_at, i."deliveredNow" as delivered_now, i."firstBouncedAt" is not null as bounced_now,
    i."complainedAt" is not null as complained_now, i.published
), events as (
  insert into message_events (message_id, attempt, type, occurred_at, data)
  select e."messageId", e.attempt, e.type, e."occurredAt", jsonb_strip_nulls(jsonb_build_object(
        'provider', e.provider, 'response', e.response, 'failure', e.failure, 'bounce', e.bounce))
  from json_to_recordset($2) as e (
      "messageId" bigint, attempt smallint, type text, "occurredAt" timestamptz, provider text, response text,
      failure jsonb, bounce jsonb)
  on conflict do nothing
), suppression_reports as materialized (
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
), contacted as materialized (
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
), usage_counted as (
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
), stats_counted as (
  insert into stat_changes (brand_id, slot, source, channel, name, message_id, count)
  select u.brand_id, date_bin('15 minutes', f.at, '2000-01-01 00:00+00'::timestamptz), case u.class
    when 2 then 'campaign' when 1 then 'flow' else 'api' end, u.channel, f.name,
    case when u.id > (select reached_id from older_stats) and u.id <= (select last_id from older_stats) then u.id end,
    count(*)
  from updated u cross
  join lateral (values ('sent', u.sent_at, u.sent_now), ('delivered', u.delivered_at, u.delivered_now),
      ('bounced', u.bounced_at, u.bounced_now), ('complained', u.complained_at, u.complained_now)) as f (name, at, is_new)
  where f.is_new and not u.test group by 1, 2, 3, 4, 5, 6
), new_events as materialized (
  select gen_random_uuid() as id, e.*
  from updated u cross
  join json_to_recordset(u.published) as e (n int, account_id bigint, brand_id bigint, type text,
      occurred_at timestamptz, data json)
  where (exists (select 1 from (select brand_id from webhooks where enabled) subscriptions where brand_id = u.brand_id))
),
  webhook_matches as materialized (
  select i.n, i.id as event_id, i.type, w.id as webhook_id, w.generation
  from new_events i join webhooks w
    on w.enabled and i.type = any(w.events) and w.brand_id = i.brand_id
  union all
  select i.n, i.id, i.type, w.id, w.generation
  from new_events i join webhooks w
    on w.enabled and i.type = any(w.events) and i.brand_id is null and w.account_id = i.account_id
), new_webhook_deliveries as (
  insert into webhook_deliveries (webhook_id, event_id, type, generation)
  select webhook_id, event_id, type, generation from webhook_matches order by n, webhook_id
  returning id, created_at, webhook_id, event_id, generation
), queued_webhook_deliveries as (
  insert into webhook_queue (delivery_id, created_at, webhook_id, event_id, generation)
  select id, created_at, webhook_id, event_id, generation from new_webhook_deliveries
), written_events as (
  insert into events (id, account_id, brand_id, type, occurred_at, data)
  select id, account_id, brand_id, type, occurred_at, data from new_events
  -- "is true" makes this one look-up in a hash table for each event, never a join.
  where (id in (select event_id from webhook_matches)) is true
)
select array[(select count(*) from webhook_matches)]::int[] as counts
