-- Prepared as record_priced_outcomes_of_flows_and_blocks_5
-- Written by npm run sql: see docs/statements.md.
--
-- Records what became of batches that were given to providers, and all that follows from it.
-- This shape: messages of any class that have reserved what they cost.
-- Others: record_outcomes, record_outcomes_of_contacts, record_outcomes_in_blocks, record_outcomes_of_flows, record_outcomes_of_flows_and_blocks, record_priced_outcomes.
-- Defined in src/delivery/ledger/record/record-sql.ts, sent by recordBatches().
--
-- $1 json: the outcomes, a row for each message
-- $2 bigint[]: the processes whose intents end
-- $3 bigint[]: and the numbers of these intents
-- $4 bigint[]: the messages that leave the queue
-- $5 bigint[]: those of them that get back what they have reserved
-- $6 bigint[]: the messages that stay in the queue
-- $7 json: the blocks of the batches, with what each batch has used of its block

with input as (
  select * from json_to_recordset($1) as i (
      "messageId" bigint, attempt smallint, epoch int, status text, events text[], queue text, "delaySeconds" int,
      provider text, "providerMessageId" text, response text, failure jsonb, bounce jsonb,
      suppress boolean, "accountId" bigint, "addressKey" text, channel text, owner bigint, published json, keep int,
      "campaignId" bigint, block int, losses smallint, bytes int, "versionId" bigint, segments smallint)
), intents as (
  delete from handovers h using unnest($2::bigint[], $3::bigint[]) as e (owner, seq)
  where h.owner = e.owner and h.seq = e.seq returning h.owner, h.seq
), updated as (
  update messages m set
    status = i.status,
    attempt_count = greatest(m.attempt_count, i.attempt),
    sent_at = case when i.status in ('sent', 'delivered') then coalesce(m.sent_at, now()) else m.sent_at end,
    delivered_at = case i.status when 'delivered' then coalesce(m.delivered_at, now()) else m.delivered_at end,
    bounced_at = case i.status when 'bounced' then coalesce(m.bounced_at, now()) else m.bounced_at end,
    provider = coalesce(i.provider, m.provider),
    provider_message_id = coalesce(i."providerMessageId", m.provider_message_id),
    sent_attempt = case when i.status in ('sent', 'delivered') then coalesce(m.sent_attempt, i.attempt)
    else m.sent_attempt end,
    response = case when i.status in ('sent', 'delivered') and m.sent_attempt is null then i.response
    else m.response end,
    failure = i.failure, bounce = coalesce(i.bounce, m.bounce), hold = null, updated_at = now(),
    unknown_at = case i.status when 'unknown' then coalesce(m.unknown_at, now()) else m.unknown_at end,
    unsent_at = case when m.unsent_at is null and m.sent_at is null
    and (i.status in ('failed', 'bounced') and m.unknown_at is not null or m.status in ('failed', 'bounced'))
    then now() else m.unsent_at end
  , contact_id = coalesce(m.contact_id, case m.channel
      when 'email' then (select c.id from contacts c where c.brand_id = m.brand_id and c.email_key = m.to_key)
      else (select c.id from contacts c where c.brand_id = m.brand_id and c.phone = m.to_key) end),
    segments = coalesce(least(m.segments, i.segments), case when m.channel = 'sms' and i.status = 'unknown' then coalesce(
        (select nullif(q.price_units, 0) from send_queue q where q.message_id = m.id),
        (select (b.price_list -> m.id::text ->> 1)::smallint from (
          select price_list, first_id from campaign_blocks
          where campaign_id = m.campaign_id and last_id >= m.id order by campaign_id, last_id limit 1) b
        where b.first_id <= m.id),
        (select v.segments from template_versions v where v.id = m.content_version_id)) end),
    content_version_id = coalesce(i."versionId", m.content_version_id)
  from input i cross join lateral (
    select o.status as was_status, o.sent_at as was_sent_at, o.delivered_at as was_delivered_at,
      o.bounce as was_bounce, o.segments as was_segments, o.unknown_at as was_unknown_at
    from messages o where o.id = i."messageId" for no key update) was
  where m.id = i."messageId" and case i.status
    when 'queued' then m.status in ('queued', 'held', 'unknown')
    when 'held' then m.status in ('queued', 'held', 'unknown')
    when 'sent' then m.status in ('queued', 'held', 'failed', 'unknown')
    when 'delivered' then m.status in ('queued', 'held', 'sent', 'bounced', 'failed', 'unknown')
    when 'bounced' then m.status in ('queued', 'held', 'sent', 'delivered', 'unknown')
    when 'complained' then m.status in ('queued', 'held', 'sent', 'delivered', 'bounced', 'failed', 'unknown')
    when 'failed' then m.status in ('queued', 'held', 'sent', 'unknown')
    when 'unknown' then m.status in ('queued', 'held', 'unknown')
    when 'skipped' then m.status in ('queued', 'held')
    when 'canceled' then m.status in ('queued', 'held') end
    and (m.sent_at is null or i.status = 'delivered')
    and (i.queue not in ('retry', 'postpone') or m.status <> 'unknown' or has_queue_row(m.id))
  returning m.*, i.published, was.*
), late_segments as (
  update messages m set segments = i.segments from input i cross join lateral (
    select o.status as was_status, o.sent_at as was_sent_at, o.delivered_at as was_delivered_at,
      o.bounce as was_bounce, o.segments as was_segments, o.unknown_at as was_unknown_at
    from messages o where o.id = i."messageId" for no key update) was
  where m.id = i."messageId" and i.segments is not null and (m.segments is null or m.segments > i.segments)
    and m.id <> all(array(select id from updated))
  returning m.*, was.*
), known_segments as materialized (
  select id, account_id, segments, was_segments,
    date_trunc('month', coalesce(unknown_at, sent_at) at time zone 'utc')::date as month, test
  from (
    select id, account_id, channel, test, segments, sent_at, unknown_at, unsent_at, was_segments, was_sent_at,
      was_unknown_at
    from updated
    union all
    select id, account_id, channel, test, segments, sent_at, unknown_at, unsent_at, was_segments, was_sent_at,
      was_unknown_at
    from late_segments) t
  where channel = 'sms' and unsent_at is null and (was_sent_at is not null or was_unknown_at is not null)
), segments_counted as (
  insert into usage_changes (account_id, month, sms_used)
  select account_id, month, sum(segments - coalesce(was_segments, 1)) from known_segments
  where not test and segments <> coalesce(was_segments, 1) group by 1, 2
), removed as (
  delete from send_queue where message_id = any($4)
  returning message_id, account_id, reserved_bucket, price_month, price_millicents, price_units, channel
), cleared as materialized (
  select account_id, channel, null::timestamptz, month, millicents, units
  from take_unknown_charges(array(select id from updated where unsent_at = updated_at))
), lowered as materialized (
  select l.account_id, l.channel, null::timestamptz, l.month, l.millicents, l.units
  from (select array_agg(id) as ids, array_agg(segments::int) as counts
    from (select id, segments from known_segments where segments < was_segments) s) k
  cross join lateral lower_unknown_charges(k.ids, k.counts) l
), unknown_kept as (
  insert into unknown_charges (message_id, account_id, channel, month, millicents, units)
  select message_id, account_id, channel, price_month, coalesce(price_millicents, 0), price_units
  from removed
  where message_id = any(array(select "messageId" from input where status = 'unknown')) and price_month is not null
    and price_units > 0
  on conflict do nothing
), months_returned as materialized (
  select account_id, price_month as month,
    coalesce(sum(price_units) filter (where channel = 'email'), 0) as emails,
    coalesce(sum(price_units) filter (where channel = 'email' and price_millicents = 0), 0) as free,
    coalesce(sum(price_units) filter (where channel = 'sms'), 0) as texts,
    coalesce(sum(price_millicents), 0) as millicents
  from (
    select r.account_id, r.channel, case when r.message_id = any($5) then r.reserved_bucket end as reserved_bucket,
      r.price_month,
      r.price_millicents * (r.price_units - k.keep) / greatest(1, r.price_units) as price_millicents,
      r.price_units - k.keep as price_units
    from removed r cross join lateral (
      select case when r.message_id = any($5) then 0
        else (select least(k.keep, r.price_units)
        from (select "messageId" as message_id, keep from input where keep is not null) k
        where k.message_id = r.message_id) end as keep) k
    where k.keep < r.price_units or k.keep = 0 union all select * from cleared union all select * from lowered) unsent
  where price_month is not null group by account_id, price_month
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
    select r.account_id, r.channel, case when r.message_id = any($5) then r.reserved_bucket end as reserved_bucket,
      r.price_month,
      r.price_millicents * (r.price_units - k.keep) / greatest(1, r.price_units) as price_millicents,
      r.price_units - k.keep as price_units
    from removed r cross join lateral (
      select case when r.message_id = any($5) then 0
        else (select least(k.keep, r.price_units)
        from (select "messageId" as message_id, keep from input where keep is not null) k
        where k.message_id = r.message_id) end as keep) k
    where k.keep < r.price_units or k.keep = 0 union all select * from cleared union all select * from lowered) unsent
  where reserved_bucket is not null group by account_id, reserved_bucket
), allowance_locked as (
  select b.account_id, b.bucket from allowance_buckets b join allowance_unused using (account_id, bucket)
  where (select count(*) from months_locked) >= 0 order by b.account_id, b.bucket for update of b
), allowance_given_back as (
  update allowance_buckets b set used = greatest(0, b.used - u.count)
  from allowance_unused u join allowance_locked l using (account_id, bucket)
  where b.account_id = u.account_id and b.bucket = u.bucket
), requeued as (
  update send_queue q set owner = null,
    due_at = case when i.queue in ('retry', 'postpone') then now() + make_interval(secs => i."delaySeconds")
    else q.due_at end,
    attempt_count = case i.queue when 'retry' then greatest(q.attempt_count, i.attempt) else q.attempt_count end
  from input i
  where i.queue <> 'delete' and q.message_id = any($6) and q.message_id = i."messageId"
    and q.owner = i.owner and q.claim_epoch = i.epoch
), events as (
  insert into message_events (message_id, attempt, type, data)
  select i."messageId", i.attempt, e.type, jsonb_strip_nulls(jsonb_build_object(
        'provider', i.provider, 'response', i.response, 'failure', i.failure, 'bounce', i.bounce))
  from input i cross join unnest(i.events) as e (type)
  where e.type not in ('sent', 'delivered')
    or (i."messageId", i.attempt) not in (select id, sent_attempt from updated where sent_attempt is not null)
  on conflict do nothing
), flow_messages_counted as (
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
), batches as materialized (
  select * from json_to_recordset($7) as b (
      owner bigint, seq bigint, campaign_id bigint, n int, used int, attempted int, charged int, texts jsonb,
      first_id bigint, last_id bigint)
), changed_blocks as materialized (
  select locked.* from (select distinct campaign_id, n from (
      select o.campaign_id, o.n from (
        select campaign_id, id from updated
        where campaign_id is not null
          and (id not in (select "messageId" from input where block is not null) or exists (
            select 1 from batches t where not exists (
              select 1 from campaign_blocks b
              where b.campaign_id = t.campaign_id and b.n = t.n and b.first_id <= t.first_id
                and b.last_id >= t.last_id)))) u
      cross join lateral (
        select campaign_id, n, first_id from campaign_blocks
        where campaign_id = u.campaign_id and last_id >= u.id order by campaign_id, last_id limit 1) o
      where o.first_id <= u.id
      union all select campaign_id, n from batches) as changed (campaign_id, n)
    order by campaign_id, n) k
  cross join lateral (
    select campaign_id, n, account_id, channel, price_month, price_units, free_units, unit_millicents, price_list
    from campaign_blocks b where b.campaign_id = k.campaign_id and b.n = k.n for no key update) locked
), block_charges as materialized (
  select b.*, p.emails, p.free, p.texts, p.charged_units, p.millicents
  from changed_blocks b cross join lateral (
    select u.emails, least(u.emails, b.free_units) as free, null::jsonb as texts, u.emails as charged_units,
      (u.emails - least(u.emails, b.free_units)) * b.unit_millicents as millicents
    from (select least(b.price_units, (
          select coalesce(sum(t.charged), 0)::int from batches t join intents e on e.owner = t.owner and e.seq = t.seq
          where t.campaign_id = b.campaign_id and t.n = b.n)) as emails) u where b.channel = 'email'
    union all
    select 0, 0, u.texts, c.units, c.millicents
    from (select (
        select jsonb_object_agg(x.key, x.value) from batches t join intents e on e.owner = t.owner and e.seq = t.seq
        cross join lateral jsonb_each(t.texts) x
        where t.campaign_id = b.campaign_id and t.n = b.n) as texts) u cross join lateral (
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
    reserved = greatest(0, b.reserved - ((
        select coalesce(sum(t.used), 0)::int from batches t join intents e on e.owner = t.owner and e.seq = t.seq
        where t.campaign_id = b.campaign_id and t.n = b.n))),
    sandbox_reserved = case when b.sandbox_reserved > 0 then greatest(0, b.sandbox_reserved - ((
        select coalesce(sum(t.attempted), 0)::int from batches t join intents e on e.owner = t.owner and e.seq = t.seq
        where t.campaign_id = b.campaign_id and t.n = b.n))) else 0 end,
    price_units = b.price_units - coalesce(p.charged_units, 0), free_units = b.free_units - coalesce(p.free, 0),
    price_millicents = greatest(0, b.price_millicents - coalesce(p.millicents, 0))
  from changed_blocks c left join block_charges p using (campaign_id, n)
  where b.campaign_id = c.campaign_id and b.n = c.n
), unknown_of_blocks as (
  insert into unknown_charges (message_id, account_id, channel, month, millicents, units)
  select u.id, b.account_id, b.channel, b.price_month,
    case b.channel when 'email' then case when u.place <= b.emails - b.free then b.unit_millicents else 0 end
    else coalesce((b.price_list -> u.id::text ->> 0)::bigint, 0) end,
    case b.channel when 'email' then 1 else coalesce((b.price_list -> u.id::text ->> 1)::int, 0) end
  from (select campaign_id, n, id, row_number() over (partition by campaign_id, n order by id) as place
    from (
      select campaign_id, block as n, "messageId" as id from (
        select i."campaignId" as campaign_id, i.block, i."messageId" from input i
        where i.block is not null and i.status = 'unknown' and i.queue = 'delete') u) o) u
  join block_charges b using (campaign_id, n)
  on conflict do nothing
), enqueued as (
  insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, attempt_count, connection_losses,
      domain_id, provider_id, content_bytes, campaign_id, reserved_bucket, price_month, price_millicents, price_units,
      price_country)
  select i."messageId", b.account_id, b.channel, 2, now() + make_interval(secs => i."delaySeconds"),
    now(), i.attempt - case when i.losses > 0 then 1 else 0 end, coalesce(i.losses, 0), b.domain_id, b.provider_id,
    coalesce(i.bytes, 0), b.campaign_id, b.reserved_bucket,
    case when p.charged then current_month() end, case when p.charged then 0 end,
    case when p.charged then 0
    when b.channel = 'sms' then coalesce((b.price_list -> i."messageId"::text ->> 1)::smallint, (
      select v.segments from campaigns c join template_versions v on v.id = c.version_ids[b.variant + 1]
      where c.id = b.campaign_id)) end,
    case b.channel when 'sms' then (select phone_country(m.to_key) from messages m where m.id = i."messageId") end
  from input i join campaign_blocks b on b.campaign_id = i."campaignId" and b.n = i.block
  cross join lateral (select has_unknown_charge(i."messageId") as charged offset 0) p
  where i.queue = 'enqueue' and (select count(*) from changed_blocks) >= 0
  on conflict (message_id) do nothing
), suppression_reports as materialized (
  select i."accountId" as account_id, i."addressKey" as address_key, i.channel, 'hard_bounce' as reason,
    i.provider as source_provider, i.bounce ->> 'diagnostic' as diagnostic, now() as occurred_at,
    true as counted
  from input i where i.suppress and not was_sent(i."messageId")
  union all
  select u.account_id, u.to_key, u.channel, 'soft_bounce', u.provider, u.bounce ->> 'diagnostic', now(), true
  from updated u where u.status = 'bounced' and u.bounce ->> 'type' = 'soft'
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
  select u.id as message_id, u.brand_id, u.contact_id, u.channel, u.sent_at, status in ('sent', 'delivered')
    and sent_at = updated_at as sent_now,
    status in ('bounced', 'failed') as failed_now
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
    from (select m.*, status in ('sent', 'delivered') and sent_at = updated_at as is_sent_now from updated m
      where not m.test or m.channel = 'sms') u
    where u.is_sent_now or u.unknown_at = u.updated_at or u.unsent_at = u.updated_at) c
  where charge <> 0 or sent_now group by account_id, month
), sums as (
  select account_id, count(*) filter (where attempted) as attempted,
    count(*) filter (where reason = 'hard_bounce') as hard_bounces,
    count(*) filter (where reason = 'complaint') as complaints
  from (
    select account_id, (status in ('sent', 'delivered') and sent_at = updated_at or status = 'bounced') as attempted,
      null as reason
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
  join lateral (values ('sent', u.sent_at, u.sent_at = u.updated_at),
      ('delivered', u.delivered_at, u.delivered_at = u.updated_at),
      ('bounced', u.bounced_at, u.bounced_at = u.updated_at)) as f (name, at, is_new)
  where f.is_new and not u.test group by 1, 2, 3, 4, 5, 6
), new_events as materialized (
  select gen_random_uuid() as id, e.*
  from updated u cross
  join json_to_recordset(u.published) as e (n int, account_id bigint, brand_id bigint, type text,
      occurred_at timestamptz, data json)
  where not u.test and (e.type <> 'email.sent' or sent_at = updated_at)
    and (exists (select 1 from (select brand_id from webhooks where enabled) subscriptions where brand_id = u.brand_id))
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
