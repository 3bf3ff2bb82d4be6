-- Cancels queued messages that no intent covers, and gives back what they have reserved. Those of a campaign or flow with
-- an attempt whose outcome is unknown leave the queue and become `unknown`; those of flows are skipped if their contact
-- was deleted.
--
-- sent by: cancelBecause
-- $1 bigint[]: the messages
-- $2 bigint: the first message
-- $3 bigint: the last message
-- $4 text: the reason that clients read
-- $5 boolean: whether their contact was deleted
-- locks: messages by id; send_queue; account_months by account and month, allowance_buckets by account and bucket;
--   campaign_blocks by campaign and number
with locked as materialized (
  select m.id, m.class = 1 as of_flow, m.status, m.sent_at, m.delivered_at, m.bounce,
    m.class <> 0 and (m.status = 'unknown' or exists (
      select 1 from message_events e where e.message_id = m.id and e.type = 'unknown')) as uncertain
  from messages m
  where m.id = any($1) and m.id between $2 and $3 and m.status in ('queued', 'held', 'unknown')
  order by m.id for no key update
), free as materialized (
  select q.message_id, l.uncertain, l.of_flow, l.status as was_status, l.sent_at as was_sent_at,
    l.delivered_at as was_delivered_at, l.bounce as was_bounce
  from send_queue q join locked l on l.id = q.message_id
  where q.message_id = any(array(select id from locked)) and not exists (
    select 1 from handovers h where h.owner = q.owner and q.message_id = any(h.message_ids))
), canceled as (
  update messages m set hold = null, updated_at = now(),
    status = case when f.uncertain then 'unknown' when f.of_flow and $5::boolean then 'skipped' else 'canceled' end,
    failure = case when not f.uncertain then jsonb_build_object(
      'code', case when f.of_flow and $5::boolean then 'contact_deleted' else 'canceled' end, 'message', $4::text) end,
    unknown_at = case when f.uncertain then coalesce(m.unknown_at, now()) else m.unknown_at end,
    unsent_at = case when not f.uncertain and m.unknown_at is not null and m.sent_at is null then now()
      else m.unsent_at end
  from free f where m.id = f.message_id and m.id between $2 and $3
  returning m.*, f.was_status, f.was_sent_at, f.was_delivered_at, f.was_bounce
)
-- <flow_counts>
, flow_messages_counted as (
  insert into flow_count_changes (flow_id, step_id, name, change, at)
  select u.flow_id, coalesce(u.flow_step_id, 0), v.name, sum(v.change), coalesce(u.sent_at, u.updated_at)
  from canceled u cross join lateral (values
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
    from (select m.*, false as is_sent_now from canceled m where not m.test or m.channel = 'sms') u
    where u.is_sent_now or u.unknown_at = u.updated_at or u.unsent_at = u.updated_at) c
  where charge <> 0 or sent_now group by account_id, month
)
-- </usage>
-- <leave_queue>
, removed as (
  delete from send_queue where message_id = any(array(select message_id from free))
  returning message_id, account_id, reserved_bucket, price_month, price_millicents, price_units,
    split_part(channel, '_', 1) as channel
), unknown_kept as (
  insert into unknown_charges (message_id, account_id, channel, month, millicents, units)
  select message_id, account_id, channel, price_month, coalesce(price_millicents, 0), price_units
  from removed
  where message_id = any(array(select message_id from free where uncertain)) and price_month is not null
    and price_units > 0
  on conflict do nothing
), months_returned as materialized (
  select account_id, price_month as month,
    coalesce(sum(price_units) filter (where channel = 'email'), 0) as emails,
    coalesce(sum(price_units) filter (where channel = 'email' and price_millicents = 0), 0) as free,
    coalesce(sum(price_units) filter (where channel = 'sms'), 0) as texts,
    coalesce(sum(price_millicents), 0) as millicents
  from (
    select r.account_id, r.channel, case
      when r.message_id = any(array(select message_id from free
        where not uncertain)) then r.reserved_bucket end as reserved_bucket,
      r.price_month,
      r.price_millicents * (r.price_units - k.keep) / greatest(1, r.price_units) as price_millicents,
      r.price_units - k.keep as price_units
    from removed r cross join lateral (
      select case when r.message_id = any(array(select message_id from free where not uncertain)) then 0
        else null end as keep) k
    where k.keep < r.price_units or k.keep = 0) unsent
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
    select r.account_id, r.channel, case
      when r.message_id = any(array(select message_id from free
        where not uncertain)) then r.reserved_bucket end as reserved_bucket,
      r.price_month,
      r.price_millicents * (r.price_units - k.keep) / greatest(1, r.price_units) as price_millicents,
      r.price_units - k.keep as price_units
    from removed r cross join lateral (
      select case when r.message_id = any(array(select message_id from free where not uncertain)) then 0
        else null end as keep) k
    where k.keep < r.price_units or k.keep = 0) unsent
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
-- <marked_blocks>
, changed_blocks as materialized (
  select locked.* from (select distinct campaign_id, n from (
      select o.campaign_id, o.n from (select campaign_id, id from canceled where campaign_id is not null) u cross
      join lateral (
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
select message_id as id from free where not uncertain
