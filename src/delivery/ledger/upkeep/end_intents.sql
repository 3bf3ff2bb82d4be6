-- Ends the intents of a dead sender. Their messages become `unknown`, and are charged. Transactional ones go back to the
-- queue, and so do those of flows that say so; all others leave it. If a report came before, the message stays as it is,
-- and only its block is charged.
--
-- sent by: recoverDeadSender
-- $1 bigint: the process
-- locks: messages, which the caller has locked by id; handovers; send_queue by message; campaign_blocks by campaign and
--   number
with ended_intents as (
  delete from handovers where owner = $1
  returning provider, message_ids, attempts, report_seconds, campaign_id, block_n, block_epoch
), intents as (
  select i.message_id, i.attempt, e.provider, e.report_seconds, e.campaign_id, e.block_n, e.block_epoch
  from ended_intents e cross join unnest(e.message_ids, e.attempts) as i (message_id, attempt)
), queued as (
  select message_id from send_queue
  where owner = $1 and message_id = any(array(select message_id from intents where block_n is null))
  order by message_id for update
), owned as (
  select message_id from queued
  union all
  select i.message_id from intents i join campaign_blocks b
    on b.campaign_id = i.campaign_id and b.n = i.block_n and b.claim_epoch = i.block_epoch and b.owner = $1
), marked as (
  update messages m set status = 'unknown', hold = null, updated_at = now(),
    attempt_count = greatest(m.attempt_count, i.attempt), provider = coalesce(i.provider, m.provider),
    unknown_at = coalesce(m.unknown_at, now()), segments =
      -- <segments>
      coalesce(least(m.segments, null::smallint), case when m.channel = 'sms' and true then coalesce(
          (select nullif(q.price_units, 0) from send_queue q where q.message_id = m.id),
          (select (b.price_list -> m.id::text ->> 1)::smallint from (
            select price_list, first_id from campaign_blocks
            where campaign_id = m.campaign_id and last_id >= m.id order by campaign_id, last_id limit 1) b
          where b.first_id <= m.id),
          (select v.segments from template_versions v where v.id = m.content_version_id)) end)
      -- </segments>
  from intents i join owned using (message_id)
  -- <message_before>
  cross join lateral (
    select o.status as was_status, o.sent_at as was_sent_at, o.delivered_at as was_delivered_at,
      o.bounce as was_bounce, o.segments as was_segments, o.unknown_at as was_unknown_at
    from messages o where o.id = i.message_id for no key update) was
  -- </message_before>
  where m.id = i.message_id and m.status in ('queued', 'held', 'unknown')
  returning m.*, i.attempt, i.report_seconds, i.block_n, was.*
), repeated as (
  select m.id from marked m
  where m.class = 0 or m.flow_id is not null and (select f.unknown = 'resend' from flows f where f.id = m.flow_id)
), reported as materialized (
  -- Their outcomes would have taken their charges from the block.
  select m.id, m.channel, i.campaign_id, i.block_n
  from intents i join owned using (message_id) join messages m on m.id = i.message_id
  where i.block_n is not null and m.sent_at is not null and m.unsent_at is null
    and m.status not in ('queued', 'held', 'unknown')
), charged as (
  select id, campaign_id, block_n from marked where block_n is not null
  union all
  select id, campaign_id, block_n from reported
)
-- <flow_counts>
, flow_messages_counted as (
  insert into flow_count_changes (flow_id, step_id, name, change, at)
  select u.flow_id, coalesce(u.flow_step_id, 0), v.name, sum(v.change), coalesce(u.sent_at, u.updated_at)
  from marked u cross join lateral (values
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
-- <usage>
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
    from (select m.*, false as is_sent_now from marked m where not m.test or m.channel = 'sms') u
    where u.is_sent_now or u.unknown_at = u.updated_at or u.unsent_at = u.updated_at) c
  where charge <> 0 or sent_now group by account_id, month
)
-- </usage>
, events as (
  insert into message_events (message_id, attempt, type, data)
  select id, attempt, 'unknown', jsonb_build_object(
    'provider', provider, 'reason', 'the sender died before the outcome was known') from marked
  on conflict do nothing
), removed as (
  delete from send_queue
  where owner = $1 and message_id = any(array(select id from marked except select id from repeated)) returning *
)
-- <unknown_charges>
, unknown_kept as (
  insert into unknown_charges (message_id, account_id, channel, month, millicents, units)
  select message_id, account_id, channel, price_month, coalesce(price_millicents, 0), price_units
  from removed
  where message_id = any(array(select message_id from removed)) and price_month is not null and price_units > 0
  on conflict do nothing
)
-- </unknown_charges>
-- <captured>
-- </captured>
-- <changed_blocks>
, changed_blocks as materialized (
  select locked.* from (select distinct campaign_id, n from (select campaign_id, block_n from charged
      union all
      select o.campaign_id, o.n
      from (select campaign_id, id from marked where campaign_id is not null and block_n is null) u cross join lateral (
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
    from (select least(b.price_units,
          (select count(*)::int from charged k where k.campaign_id = b.campaign_id and k.block_n = b.n)) as emails) u
    where b.channel = 'email'
    union all
    select 0, 0, u.texts, c.units, c.millicents
    from (select (select coalesce(jsonb_object_agg(k.id, null::int), '{}') from charged k
        where k.campaign_id = b.campaign_id and k.block_n = b.n) as texts) u
    cross join lateral (
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
    reserved = greatest(0,
      b.reserved - ((select count(*)::int from charged k where k.campaign_id = b.campaign_id and k.block_n = b.n))),
    sandbox_reserved = case
    when b.sandbox_reserved > 0 then greatest(0,
      b.sandbox_reserved - ((select count(*)::int from charged k
        where k.campaign_id = b.campaign_id and k.block_n = b.n)))
    else 0 end,
    price_units = b.price_units - coalesce(p.charged_units, 0), free_units = b.free_units - coalesce(p.free, 0),
    price_millicents = greatest(0, b.price_millicents - coalesce(p.millicents, 0))
  from changed_blocks c left join block_charges p using (campaign_id, n)
  where b.campaign_id = c.campaign_id and b.n = c.n
)
-- </changed_blocks>
-- <unknown_of_blocks>
, unknown_of_blocks as (
  insert into unknown_charges (message_id, account_id, channel, month, millicents, units)
  select u.id, b.account_id, b.channel, b.price_month,
    case b.channel when 'email' then case when u.place <= b.emails - b.free then b.unit_millicents else 0 end
    else coalesce((b.price_list -> u.id::text ->> 0)::bigint, 0) end,
    case b.channel when 'email' then 1 else coalesce((b.price_list -> u.id::text ->> 1)::int, 0) end
  from (select campaign_id, n, id, row_number() over (partition by campaign_id, n order by id) as place
    from (
      select campaign_id, block_n as n, id from marked where block_n is not null
      union all select campaign_id, block_n, id from reported where channel = 'sms') o) u
  join block_charges b using (campaign_id, n)
  on conflict do nothing
)
-- </unknown_of_blocks>
-- Without a wait, due_at stays: messages that were stranded go before later ones.
update send_queue q set owner = null, attempt_count = m.attempt,
  due_at = case when m.report_seconds > 0 then now() + make_interval(secs => m.report_seconds) else q.due_at end
from marked m
where q.message_id = m.id and q.owner = $1 and q.message_id = any(array(select id from repeated))
