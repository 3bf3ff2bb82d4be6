-- Records batches of blocks of which every message was sent. It has the effects of record_outcomes on such messages, and
-- recording them twice changes nothing. It is one statement because every part of it has something to do.
--
-- sent by: recordSent
-- $1 bigint[]: the processes whose intents end
-- $2 bigint[]: and the numbers of these intents
-- $3 bigint[]: the campaign of each batch
-- $4 int[]: the number of its block
-- $5 int[]: the number of its messages
-- $6 bigint[]: the messages, in ascending order
-- $7 smallint[]: their attempts
-- $8 text[]: the response of the provider to each
-- $9 text[]: the id that the provider gave each, or empty
-- $10 text: the provider
-- $11 bigint: the version of the content
-- $12 bigint[]: the first message of each batch
-- $13 bigint[]: the last message of each batch
-- locks: messages by id, contacts by id, contact_channel_counts by contact, account_outcomes by account, campaign_blocks
--   by campaign and number, handovers
with batches as materialized (
  select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[], $5::int[], $12::bigint[], $13::bigint[])
    as b (owner, seq, campaign_id, n, used, first_id, last_id)
), intents as (
  delete from handovers h using batches b where h.owner = b.owner and h.seq = b.seq returning h.owner, h.seq
), input as materialized (
  select * from unnest($6::bigint[], $7::smallint[], $8::text[], $9::text[])
    as i (id, attempt, response, provider_message_id)
), written as (
  update messages m set
    status = case when m.sent_at is null then 'sent' else m.status end,
    attempt_count = greatest(m.attempt_count, i.attempt), sent_at = coalesce(m.sent_at, now()),
    provider = coalesce($10, m.provider),
    provider_message_id = coalesce(i.provider_message_id, m.provider_message_id),
    sent_attempt = coalesce(m.sent_attempt, i.attempt),
    response = case when m.sent_attempt is null then i.response else m.response end,
    failure = case when m.sent_at is not null then m.failure end, hold = null, updated_at = now(),
    content_version_id = coalesce($11, m.content_version_id)
  from input i
  where m.id = i.id and (m.sent_at is null and m.status in (
    -- <states_before>
    'queued', 'held', 'failed', 'unknown'
    -- </states_before>
    )
    -- A report has shown before that this attempt was accepted. Only the sender knows its id.
    or m.sent_at is not null and m.sent_attempt = i.attempt and m.provider_message_id is null
      and i.provider_message_id is not null)
  returning m.id, m.campaign_id, m.account_id, m.brand_id, m.channel, m.class, m.contact_id, m.sent_at, m.sent_attempt,
    m.test, m.updated_at, m.segments, m.unknown_at, m.unsent_at
), updated as materialized (
  select * from written where sent_at = updated_at
), events as (
  -- The row of a message shows that this attempt was accepted, and with which response, unless another outcome or a
  -- report came first.
  insert into message_events (message_id, attempt, type, data)
  select i.id, i.attempt, 'sent', jsonb_strip_nulls(jsonb_build_object('provider', $10, 'response', i.response))
  from input i where (i.id, i.attempt) not in (select id, sent_attempt from updated)
    and not exists (select 1 from messages m where m.id = i.id and m.sent_attempt = i.attempt
      and m.response is not distinct from i.response)
  on conflict do nothing
)
, uncharged as materialized (
  -- A report has shown before, perhaps while the update waited, that these were not sent: the lock reads them as they
  -- are now.
  select b.campaign_id, b.n, i.id from input i join batches b on i.id between b.first_id and b.last_id
  join intents e on e.owner = b.owner and e.seq = b.seq
  cross join lateral (select unsent_at from messages o where o.id = i.id offset 0 for no key update) m
  where (select count(*) from updated) < cardinality($6::bigint[]) and m.unsent_at is not null
    and (i.id in (select id from written)) is not true
  union all
  -- This statement has changed these, and a lock of its own would leave them out.
  select b.campaign_id, b.n, w.id from written w join batches b on w.id between b.first_id and b.last_id
  join intents e on e.owner = b.owner and e.seq = b.seq
  where w.sent_at <> w.updated_at and w.unsent_at is not null
)
-- <changed_blocks>
, changed_blocks as materialized (
  select locked.* from (select distinct campaign_id, n from (select campaign_id, n from batches
      union all
      select o.campaign_id, o.n from (select campaign_id, id from updated where exists (
          select 1 from batches t where not exists (
            select 1 from campaign_blocks b
            where b.campaign_id = t.campaign_id and b.n = t.n and b.first_id <= t.first_id
              and b.last_id >= t.last_id))) u
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
    from (select least(b.price_units, greatest(0, (
            select coalesce(sum(t.used), 0)::int from batches t join intents e on e.owner = t.owner and e.seq = t.seq
            where t.campaign_id = b.campaign_id and t.n = b.n)
            - (select count(*)::int from uncharged u where u.campaign_id = b.campaign_id and u.n = b.n))) as emails) u
    where b.channel = 'email'
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
    reserved = greatest(0, b.reserved - ((
        select coalesce(sum(t.used), 0)::int from batches t join intents e on e.owner = t.owner and e.seq = t.seq
        where t.campaign_id = b.campaign_id and t.n = b.n))),
    sandbox_reserved = case when b.sandbox_reserved > 0 then greatest(0, b.sandbox_reserved - ((
        select coalesce(sum(t.used), 0)::int from batches t join intents e on e.owner = t.owner and e.seq = t.seq
        where t.campaign_id = b.campaign_id and t.n = b.n))) else 0 end,
    price_units = b.price_units - coalesce(p.charged_units, 0), free_units = b.free_units - coalesce(p.free, 0),
    price_millicents = greatest(0, b.price_millicents - coalesce(p.millicents, 0))
  from changed_blocks c left join block_charges p using (campaign_id, n)
  where b.campaign_id = c.campaign_id and b.n = c.n
)
-- </changed_blocks>
-- <contacts>
, contacted as materialized (
  select u.id as message_id, u.brand_id, u.contact_id, u.channel, u.sent_at, true as sent_now,
    false as failed_now
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
    from (select m.*, true as is_sent_now from updated m where not m.test or m.channel = 'sms') u
    where u.is_sent_now or u.unknown_at = u.updated_at or u.unsent_at = u.updated_at) c
  where charge <> 0 or sent_now group by account_id, month
), sums as (
  select account_id, count(*) filter (where attempted) as attempted,
    count(*) filter (where reason = 'hard_bounce') as hard_bounces,
    count(*) filter (where reason = 'complaint') as complaints
  from (
    select account_id, true as attempted, null as reason
    from updated where channel = 'email' and not test
  ) o where (select count(*) from contact_counts) >= 0 group by account_id
), outcomes_counted as (
  insert into account_outcomes as o (account_id, hour, attempted, hard_bounces, complaints)
  select account_id, date_trunc('hour', now(), 'UTC'), attempted, hard_bounces, complaints from sums
  where attempted + hard_bounces + complaints > 0 order by account_id
  on conflict (account_id, hour) do update set attempted = o.attempted + excluded.attempted,
    hard_bounces = o.hard_bounces + excluded.hard_bounces, complaints = o.complaints + excluded.complaints
)
-- </outcomes>
-- <stats>
, stats_counted as (
  insert into stat_changes (brand_id, slot, source, channel, name, message_id, count)
  select u.brand_id, date_bin('15 minutes', f.at, '2000-01-01 00:00+00'::timestamptz), case u.class
    when 2 then 'campaign' when 1 then 'flow' else 'api' end, u.channel, f.name,
    case when u.id > (select reached_id from older_stats) and u.id <= (select last_id from older_stats) then u.id end,
    count(*)
  from updated u cross join lateral (values ('sent', u.sent_at, true)) as f (name, at, is_new)
  where f.is_new and not u.test group by 1, 2, 3, 4, 5, 6
)
-- </stats>
select count(*) from updated
