-- Skips recipients of campaigns who wait, unless an intent covers them, and gives back what they have reserved. Those with
-- an attempt whose outcome is unknown become `unknown`.
--
-- sent by: skipRecipients
-- $1 bigint[]: the messages
-- $2 bigint: the first message
-- $3 bigint: the last message
-- $4 text: the code of the failure
-- $5 text: the message of the failure
-- locks: messages by id; send_queue; account_months by account and month, allowance_buckets by account and bucket;
--   campaign_blocks by campaign and number
with locked as materialized (
  select m.id, exists (
      select 1 from message_events e where e.message_id = m.id and e.type = 'unknown') as uncertain
  from messages m
  where m.id = any($1) and m.id between $2 and $3 and m.campaign_id is not null and m.status in ('queued', 'held')
    and not
      -- <intended>
      exists (select 1 from (
        select h.* from (
          select q.owner from send_queue q where q.message_id = m.id
          union all
          select b.owner from (
            select owner, first_id from campaign_blocks
            where campaign_id = m.campaign_id and last_id >= m.id order by campaign_id, last_id limit 1) b
          where b.first_id <= m.id) o join handovers h on h.owner = o.owner
        where m.id = any(h.message_ids)) h)
      -- </intended>
  order by m.id for no key update
), updated as (
  update messages m set status = case when l.uncertain then 'unknown' else 'skipped' end, hold = null,
    updated_at = now(),
    failure = case when not l.uncertain then jsonb_build_object('code', $4::text, 'message', $5::text) end
  from locked l where m.id = l.id and m.id between $2 and $3
  returning m.id, m.campaign_id, m.status
)
-- <leave_queue>
, removed as (
  delete from send_queue where message_id = any(array(select id from locked))
  returning message_id, account_id, reserved_bucket, price_month, price_millicents, price_units,
    split_part(channel, '_', 1) as channel
), unknown_kept as (
  insert into unknown_charges (message_id, account_id, channel, month, millicents, units)
  select message_id, account_id, channel, price_month, coalesce(price_millicents, 0), price_units
  from removed
  where message_id = any(array(select id from locked where uncertain)) and price_month is not null and price_units > 0
  on conflict do nothing
), months_returned as materialized (
  select account_id, price_month as month,
    coalesce(sum(price_units) filter (where channel = 'email'), 0) as emails,
    coalesce(sum(price_units) filter (where channel = 'email' and price_millicents = 0), 0) as free,
    coalesce(sum(price_units) filter (where channel = 'sms'), 0) as texts,
    coalesce(sum(price_millicents), 0) as millicents
  from (
    select r.account_id, r.channel, case
      when r.message_id = any(array(select id from locked
        where not uncertain)) then r.reserved_bucket end as reserved_bucket,
      r.price_month,
      r.price_millicents * (r.price_units - k.keep) / greatest(1, r.price_units) as price_millicents,
      r.price_units - k.keep as price_units
    from removed r cross join lateral (
      select case when r.message_id = any(array(select id from locked where not uncertain)) then 0
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
      when r.message_id = any(array(select id from locked
        where not uncertain)) then r.reserved_bucket end as reserved_bucket,
      r.price_month,
      r.price_millicents * (r.price_units - k.keep) / greatest(1, r.price_units) as price_millicents,
      r.price_units - k.keep as price_units
    from removed r cross join lateral (
      select case when r.message_id = any(array(select id from locked where not uncertain)) then 0
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
      select o.campaign_id, o.n from (select campaign_id, id from updated) u cross join lateral (
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
select id from updated where status = 'skipped'
