-- Records what became of messages that were given to providers, and all that follows from it. An outcome belongs to a
-- message and an attempt: it is recorded no matter which process has the queue row by now, and recording it twice
-- changes nothing. Most messages are emails that a provider accepted; the parts for all others run only if a message
-- needs them.
--
-- sent by: recordOnce
-- owners: the processes whose intents end
-- seqs: the numbers of these intents
-- ids: the messages, in ascending order, each once
-- attempts: the attempt of each; null if others is
-- statuses: its new state, or null if it stays as it is; null if others is
-- providers: the provider, or null if none was asked; only one if others is null
-- provider_ids: the id that the provider gave the message, or null
-- replies: the response of the provider, or null
-- for_contacts: whether recipients may be contacts
-- others: what else there is to say about each message, see inputRow() in record.ts; null for a transactional email that
--   a provider has accepted. The array is null if all are such emails, at their first attempt and by one provider: only
--   the short part then runs. It raises CL020 if one of them is not plain after all: it already has another
--   outcome, or older figures will count it
-- blocks: the blocks of campaigns that the batches are of, with what each batch has used; null if there are none
-- locks: messages by id, handovers, send_queue unless reservations are returned, contacts by id, contact_channel_counts by
--   contact, soft_bounces and suppressions by account and address, account_outcomes by account, campaign_blocks by
--   campaign and number, send_queue, account_months by account and month, allowance_buckets by account and bucket
-- sees: the update locks the messages, so nothing else changes them from then on. The queries after it see what was
--   committed while it waited: charges that the reaper has stored, and blocks that it has divided. They also see what
--   the queries before them have changed: that charged texts are known to be shorter, that blocks are charged when
--   retries get their queue rows, and that an address was reached, which ends its series of soft bounces. The update
--   returns only what messages become, so those of which more has to be known are read before it, and locked
-- partitions: messages, message_events, contact_engagement
create function record_outcomes(
  owners bigint[], seqs bigint[], ids bigint[], attempts smallint[], statuses text[], providers text[],
  provider_ids text[], replies text[], for_contacts boolean, others jsonb[], blocks jsonb,
  out silent bigint[], out sent_before bigint[])
language plpgsql as $$
declare
  -- Messages that leave the queue, that stay in it, and that return what they have reserved.
  leaving bigint[];
  staying bigint[];
  given_back bigint[];
  -- The parts that the messages need.
  gives_back boolean;
  settles boolean;
  tells boolean;
  of_flows boolean;
  of_texts boolean;
  suppresses boolean;
  enqueues boolean;
  -- Messages of flows, and texts, as they were.
  before messages[];
  -- What the update has changed; of these, the messages whose rows show the outcome.
  changed bigint[];
  shown bigint[];
  tests bigint[];
  cleared bigint[];
  of_campaigns boolean;
  bounced_softly bigint[];
  soft_accounts bigint[];
  soft_keys text[];
  soft_channels text[];
  soft_providers text[];
  soft_diagnostics text[];
  -- Messages that count for their contacts, or all messages in the short part.
  counted bigint[];
  brands bigint[];
  contacts_of bigint[];
  channels text[];
  were_sent boolean[];
  of_accounts bigint[];
  -- What later parts have changed.
  is_done boolean;
  ended_owners bigint[];
  ended_seqs bigint[];
  lowered_ids bigint[];
  lowered_segments int[];
  suppressed_accounts bigint[];
  suppressed_reasons text[];
begin
  -- The short part. Its effects are those of the parts below, for emails that were just sent.
  if others is null then
    if exists (select from older_stats where reached_id < ids[cardinality(ids)] and last_id >= ids[1]) then
      raise exception 'a message will be counted by older figures' using errcode = 'CL020';
    end if;
    with updated as (
      update messages m set status = 'sent', attempt_count = 1, sent_at = now(),
        provider = coalesce(providers[1], m.provider),
        provider_message_id = coalesce(i.provider_id, m.provider_message_id), sent_attempt = 1, response = i.reply,
        failure = null, hold = null, updated_at = now(), contact_id = case
          when for_contacts then
            -- <contact_of_email>
            coalesce(m.contact_id, (
              select c.id from contacts c where c.brand_id = m.brand_id and c.email_key = m.to_key))
            -- </contact_of_email>
          else m.contact_id end
      from unnest(ids, replies, provider_ids) as i (id, reply, provider_id)
      -- The bounds let PostgreSQL leave out partitions before it opens them.
      where m.id = i.id and m.id between ids[1] and ids[cardinality(ids)] and m.status in ('queued', 'held')
        and m.attempt_count <= 1 and m.sent_at is null and m.sent_attempt is null and m.unknown_at is null
        and m.unsent_at is null
      returning m.id, m.account_id, m.brand_id, m.contact_id, m.test
    )
    -- The account and the contact of messages that do not count are null.
    select array_agg(id), array_agg(case when not test then account_id end), array_agg(brand_id),
      array_agg(case when not test then contact_id end), coalesce(array_agg(id) filter (where test), '{}'), '{}'
    into changed, of_accounts, brands, contacts_of, silent, sent_before from updated;
    if cardinality(changed) is distinct from cardinality(ids) then
      raise exception 'a message has another outcome' using errcode = 'CL020';
    end if;
    delete from handovers h using unnest(owners, seqs) as e (owner, seq) where h.owner = e.owner and h.seq = e.seq;
    -- <plain_rows>
    delete from send_queue where message_id = any(ids);
    -- </plain_rows>
    -- <sent_usage>
    insert into usage_changes (account_id, month, email_used, sms_used, email_sent, sms_sent)
    select account_id, date_trunc('month', now() at time zone 'utc')::date, count(*), 0, count(*), 0
    from unnest(of_accounts) as u (account_id) where account_id is not null group by 1;
    -- </sent_usage>
    -- <sent_stats>
    insert into stat_changes (brand_id, slot, source, channel, name, message_id, count)
    select brand_id, date_bin('15 minutes', now(), '2000-01-01 00:00+00'::timestamptz), 'api', 'email', 'sent', null,
      count(*)
    from unnest(of_accounts, brands) as u (account_id, brand_id) where account_id is not null group by 1;
    -- </sent_stats>
    if cardinality(array_remove(contacts_of, null)) > 0 then
      contacts_of := array(
        -- <sent_contacts>
        select case
          when contact_id in (select id from contacts where id = any(contacts_of)
          order by id for key share skip locked) then contact_id end
        from unnest(contacts_of) with ordinality as u (contact_id, n) order by n
        -- </sent_contacts>
      );
      -- <contacts_sent_to>
      insert into contact_engagement (brand_id, contact_id, message_id, kind, created_at)
      select brand_id, contact_id, id, 0, now()
      from unnest(changed, brands, contacts_of) as u (id, brand_id, contact_id) where contact_id is not null;
      insert into contact_channel_counts as c (contact_id, channel, sent_count, fail_count)
      select contact_id, 'email', count(*), 0
      from unnest(contacts_of) as u (contact_id) where contact_id is not null group by 1 order by 1
      on conflict (contact_id, channel) do update set sent_count = c.sent_count + excluded.sent_count;
      -- </contacts_sent_to>
    end if;
    -- <sent_outcomes>
    insert into account_outcomes as o (account_id, hour, attempted, hard_bounces, complaints)
    select account_id, date_trunc('hour', now(), 'UTC'), count(*), 0, 0
    from unnest(of_accounts) as u (account_id) where account_id is not null group by 1 order by 1
    on conflict (account_id, hour) do update set attempted = o.attempted + excluded.attempted;
    -- </sent_outcomes>
    return;
  end if;

  -- Which parts the messages need.
  select coalesce(array_agg(id) filter (where queue = 'delete' and not o ? 'block'), '{}'),
    array_agg(id) filter (where queue in ('retry', 'postpone', 'release')),
    coalesce(array_agg(id) filter (where o ? 'giveBack' and not o ? 'block'), '{}'),
    bool_or(o ? 'giveBack' and not o ? 'block'), bool_or(o ? 'charge'), bool_or(o ? 'events'), bool_or(o ? 'flow'),
    bool_or(o ? 'text'), bool_or(o ? 'suppress'), bool_or(queue = 'enqueue')
  into leaving, staying, given_back, gives_back, settles, tells, of_flows, of_texts, suppresses, enqueues
  from (
    select id, coalesce(o, '{}') as o, coalesce(o ->> 'queue', 'delete') as queue from unnest(ids, others) as i (id, o)) i;
  if of_flows or of_texts then
    select array_agg(b.message) into before from (
      select o as message from messages o
      where o.id = any(ids) and o.id between ids[1] and ids[cardinality(ids)] order by o.id for no key update) b;
  end if;
  if of_texts then
    -- A text that is charged although it is not known to be sent has the segments that it has reserved.
    others := array(
      select case when o ? 'text' and status = 'unknown' then o || jsonb_build_object('reserved', (
          select
            -- <reserved_segments>
            coalesce(
              (select nullif(q.price_units, 0) from send_queue q where q.message_id = m.id),
              (select (b.price_list -> m.id::text ->> 1)::smallint from (
                select price_list, first_id from campaign_blocks
                where campaign_id = m.campaign_id and last_id >= m.id order by campaign_id, last_id limit 1) b
              where b.first_id <= m.id),
              (select v.segments from template_versions v where v.id = m.content_version_id))
            -- </reserved_segments>
          from messages m where m.id = i.id and m.id between ids[1] and ids[cardinality(ids)]))
        else o end
      from unnest(ids, statuses, others) with ordinality as i (id, status, o, n) order by n);
  end if;
  -- If a limit uses up what sent messages have reserved, all queue rows take the part that asks the limits.
  -- <captured>
  -- </captured>

  with updated as (
    update messages m set
      status = case when i.status = 'sent' and m.sent_at is not null then m.status else i.status end,
      attempt_count = greatest(m.attempt_count, i.attempt),
      sent_at = case when i.status in ('sent', 'delivered') then coalesce(m.sent_at, now()) else m.sent_at end,
      delivered_at = case i.status when 'delivered' then coalesce(m.delivered_at, now()) else m.delivered_at end,
      bounced_at = case i.status when 'bounced' then coalesce(m.bounced_at, now()) else m.bounced_at end,
      provider = coalesce(i.provider, m.provider),
      provider_message_id = coalesce(i.provider_id, m.provider_message_id),
      sent_attempt = case when i.status in ('sent', 'delivered') then coalesce(m.sent_attempt, i.attempt)
        else m.sent_attempt end,
      response = case when i.status in ('sent', 'delivered') and m.sent_attempt is null then i.reply
        else m.response end,
      failure = case when i.status = 'sent' and m.sent_at is not null then m.failure else i.o -> 'failure' end,
      bounce = coalesce(i.o -> 'bounce', m.bounce), hold = null, updated_at = now(),
      -- The message is charged from its first attempt with an unknown outcome on, until another attempt shows that it
      -- was not sent. A reservation that was returned when the message failed is not charged later.
      unknown_at = case i.status when 'unknown' then coalesce(m.unknown_at, now()) else m.unknown_at end,
      unsent_at = case when m.unsent_at is null and m.sent_at is null
          and (i.status in ('failed', 'bounced') and m.unknown_at is not null or m.status in ('failed', 'bounced'))
        then now() else m.unsent_at end,
      segments = case when i.status = 'sent' and m.sent_at is not null then m.segments
        else coalesce(least(m.segments, (i.o ->> 'segments')::smallint), (i.o ->> 'reserved')::smallint) end,
      content_version_id = coalesce((i.o ->> 'versionId')::bigint, m.content_version_id),
      contact_id = case when for_contacts then
          -- <contact>
          coalesce(m.contact_id, case m.channel
            when 'email' then (select c.id from contacts c where c.brand_id = m.brand_id and c.email_key = m.to_key)
            else (select c.id from contacts c where c.brand_id = m.brand_id and c.phone = m.to_key) end)
          -- </contact>
        else m.contact_id end
    from unnest(ids, attempts, statuses, providers, provider_ids, replies, others)
      as i (id, attempt, status, provider, provider_id, reply, o)
    where m.id = i.id and m.id between ids[1] and ids[cardinality(ids)] and (case i.status
        -- <transitions>
        when 'queued' then m.status in ('queued', 'held', 'unknown')
        when 'held' then m.status in ('queued', 'held', 'unknown')
        when 'sent' then m.status in ('queued', 'held', 'failed', 'unknown')
        when 'delivered' then m.status in ('queued', 'held', 'sent', 'bounced', 'failed', 'unknown')
        when 'bounced' then m.status in ('queued', 'held', 'sent', 'delivered', 'unknown')
        when 'complained' then m.status in ('queued', 'held', 'sent', 'delivered', 'bounced', 'failed', 'unknown')
        when 'failed' then m.status in ('queued', 'held', 'sent', 'unknown')
        when 'unknown' then m.status in ('queued', 'held', 'unknown')
        when 'skipped' then m.status in ('queued', 'held')
        when 'canceled' then m.status in ('queued', 'held')
        -- </transitions>
        end
      -- Once a message was sent, which a report may already have shown, the only outcome that it accepts is its delivery.
      and (m.sent_at is null or i.status = 'delivered')
      -- But only the sender knows the id that the provider gave it.
      or i.status = 'sent' and m.sent_at is not null and m.sent_attempt = i.attempt and m.provider_message_id is null
        and i.provider_id is not null)
      -- An outcome with a retry does not change a message whose queue row is gone because its sender was taken for dead:
      -- nothing would send the message. It stays unknown, and a client may request a resend.
      and (coalesce(i.o ->> 'queue', 'delete') not in ('retry', 'postpone') or m.status <> 'unknown'
        or has_queue_row(m.id))
    returning m.id, m.account_id, m.brand_id, m.channel, m.class, m.campaign_id, m.contact_id, m.test, m.status,
      m.sent_at, m.delivered_at, m.bounced_at, m.unknown_at, m.unsent_at, m.updated_at, m.segments, m.to_key,
      m.provider, m.bounce,
      m.sent_attempt = i.attempt as is_shown, i.status in ('sent', 'delivered') and m.sent_at = m.updated_at as first_sent,
      i.status = 'sent' and m.sent_at <> m.updated_at as only_id
  ), removed as (
    delete from send_queue where not settles and not gives_back and message_id = any(leaving)
  ), ended as (
    delete from handovers h using unnest(owners, seqs) as e (owner, seq)
    where blocks is null and h.owner = e.owner and h.seq = e.seq
  )
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
      from (select m.*, m.first_sent as is_sent_now from updated m where not m.test or m.channel = 'sms') u
      where u.is_sent_now or u.unknown_at = u.updated_at or u.unsent_at = u.updated_at) c
    where charge <> 0 or sent_now group by account_id, month
  )
  -- </usage>
  -- <stats>
  , stats_counted as (
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
  )
  -- </stats>
  select array_agg(id), array_agg(id) filter (where is_shown), array_agg(id) filter (where test),
    array_agg(id) filter (where status in ('sent', 'delivered') and not first_sent),
    array_agg(id) filter (where unsent_at = updated_at), bool_or(campaign_id is not null),
    array_agg(id) filter (where is_soft), array_agg(account_id) filter (where is_soft),
    array_agg(to_key) filter (where is_soft), array_agg(channel) filter (where is_soft),
    array_agg(provider) filter (where is_soft), array_agg(bounce ->> 'diagnostic') filter (where is_soft),
    array_agg(id) filter (where counts_for_contact), array_agg(brand_id) filter (where counts_for_contact),
    array_agg(contact_id) filter (where counts_for_contact), array_agg(channel) filter (where counts_for_contact),
    array_agg(first_sent) filter (where counts_for_contact),
    array_agg(account_id) filter (where not test and (first_sent or status = 'bounced') and
      -- <has_rates>
      channel = 'email'
      -- </has_rates>
      )
  into changed, shown, tests, sent_before, cleared, of_campaigns, bounced_softly, soft_accounts, soft_keys, soft_channels,
    soft_providers, soft_diagnostics, counted, brands, contacts_of, channels, were_sent, of_accounts
  from (
    select *, status = 'bounced' and bounce ->> 'type' = 'soft' as is_soft,
      contact_id is not null and not test and (first_sent or status in ('bounced', 'failed')) as counts_for_contact
    from updated where not only_id) u;

  silent := tests;
  if cardinality(changed) is distinct from cardinality(ids) then
    silent := tests || array(select unnest(ids) except select unnest(changed));
  end if;

  if of_texts then
    -- Texts whose records came late, and texts that have been charged before, some of them too much.
    with late as (
      update messages m set segments = (i.o ->> 'segments')::smallint from unnest(ids, others) as i (id, o)
      where m.id = i.id and m.id between ids[1] and ids[cardinality(ids)] and i.o ? 'segments'
        and (m.segments is null or m.segments > (i.o ->> 'segments')::smallint)
        and (i.id in (select unnest(changed))) is not true
      returning m.*
    ), known_segments as materialized (
      select t.id, t.account_id, t.segments, b.segments as was_segments, t.test,
        -- <month>
        date_trunc('month', coalesce(t.unknown_at, t.sent_at) at time zone 'utc')::date
        -- </month>
        as month
      from unnest(before) as b cross join lateral (
        select * from late l where l.id = b.id
        union all
        select * from messages m
        where m.id = b.id and m.id between ids[1] and ids[cardinality(ids)] and (m.id in (select unnest(changed))) is true) t
      where t.unsent_at is null and (b.sent_at is not null or b.unknown_at is not null) and
        -- <paid_by_segment>
        t.channel = 'sms'
        -- </paid_by_segment>
    ), segments_counted as (
      insert into usage_changes (account_id, month, sms_used)
      select account_id, month, sum(segments - coalesce(was_segments, 1)) from known_segments
      where not test and segments <> coalesce(was_segments, 1) group by 1, 2
    )
    select array_agg(id), array_agg(segments) into lowered_ids, lowered_segments
    from known_segments where segments < was_segments;
  end if;

  if tells or cardinality(shown) is distinct from cardinality(ids) then
    -- The row of a message itself shows that it was sent or delivered, when, in which attempt, and with which response.
    -- Most messages therefore have no row here.
    insert into message_events (message_id, attempt, type, data)
    select i.id, i.attempt, e.type, jsonb_strip_nulls(jsonb_build_object('provider', i.provider, 'response', i.reply,
      'failure', i.o -> 'failure', 'bounce', i.o -> 'bounce'))
    from unnest(ids, attempts, statuses, providers, replies, others) as i (id, attempt, status, provider, reply, o)
    cross join lateral jsonb_array_elements_text(coalesce(i.o -> 'events',
      case i.status when 'delivered' then jsonb '["sent", "delivered"]' else '["sent"]' end)) as e (type)
    where e.type not in ('sent', 'delivered') or (i.id in (select unnest(shown))) is not true
    on conflict do nothing;
  end if;

  if of_flows then
    with updated as (
      select m.*, b.status as was_status, b.sent_at as was_sent_at, b.delivered_at as was_delivered_at,
        b.bounce as was_bounce, b.attempt_count as was_attempt_count
      from unnest(before) as b cross join lateral (
        select * from messages o where o.id = b.id and o.id between ids[1] and ids[cardinality(ids)] offset 0) m
      where (m.id in (select unnest(changed))) is true
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
          ('resent', (u.was_status = 'unknown' and u.status <> 'unknown' and u.attempt_count > u.was_attempt_count)::int),
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

  if counted is not null then
    with updated as (
      select *, false as test, now() as sent_at
      from unnest(counted, brands, contacts_of, channels, were_sent) as u (id, brand_id, contact_id, channel, first_sent)
    )
    -- <contacts>
    , contacted as materialized (
      select u.id as message_id, u.brand_id, u.contact_id, u.channel, u.sent_at, u.first_sent as sent_now,
        not u.first_sent as failed_now
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
    select true into is_done;
  end if;

  if suppresses or bounced_softly is not null then
    -- A hard bounce counts in any state of the message, unless a late report has shown that an earlier attempt was
    -- accepted. A soft bounce counts once: only the first record of an outcome changes the message.
    with updated as (
      select * from unnest(bounced_softly, soft_accounts, soft_keys, soft_channels, soft_providers, soft_diagnostics)
        as u (id, account_id, to_key, channel, provider, diagnostic)
    )
    -- <suppressions>
    , suppression_reports as materialized (
      select (i.o ->> 'accountId')::bigint as account_id, i.o ->> 'addressKey' as address_key, i.o ->> 'channel' as channel,
        'hard_bounce' as reason, i.provider as source_provider, i.o -> 'bounce' ->> 'diagnostic' as diagnostic,
        now() as occurred_at, true as counted
      from unnest(ids, providers, others) as i (id, provider, o) where i.o ? 'suppress' and not was_sent(i.id)
      union all
      select u.account_id, u.to_key, u.channel, 'soft_bounce', u.provider, u.diagnostic, now(), true
      from updated u
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
    select array_agg(account_id), array_agg(reason) into suppressed_accounts, suppressed_reasons
    from newly_suppressed where email is not null;
  end if;

  if of_accounts is not null or cardinality(suppressed_accounts) > 0 then
    with outcomes as (
      select account_id, true as attempted, null as reason from unnest(of_accounts) as a (account_id)
      union all
      select account_id, false, reason from unnest(suppressed_accounts, suppressed_reasons) as s (account_id, reason)
    )
    -- <account_outcomes>
    , sums as (
      select account_id, count(*) filter (where attempted) as attempted,
        count(*) filter (where reason = 'hard_bounce') as hard_bounces,
        count(*) filter (where reason = 'complaint') as complaints
      from (select * from outcomes
      ) o  group by account_id
    ), outcomes_counted as (
      insert into account_outcomes as o (account_id, hour, attempted, hard_bounces, complaints)
      select account_id, date_trunc('hour', now(), 'UTC'), attempted, hard_bounces, complaints from sums
      where attempted + hard_bounces + complaints > 0 order by account_id
      on conflict (account_id, hour) do update set attempted = o.attempted + excluded.attempted,
        hard_bounces = o.hard_bounces + excluded.hard_bounces, complaints = o.complaints + excluded.complaints
    )
    -- </account_outcomes>
    select true into is_done;
  end if;
  if blocks is not null then
    with ended as (
      delete from handovers h using unnest(owners, seqs) as e (owner, seq) where h.owner = e.owner and h.seq = e.seq
      returning h.owner, h.seq
    )
    select array_agg(owner), array_agg(seq) into ended_owners, ended_seqs from ended;
  end if;

  if blocks is not null or of_campaigns then
    -- If an intent is gone, the places of its batch were subtracted before.
    with batches as materialized (
      select * from jsonb_to_recordset(coalesce(blocks, '[]')) as b (
        owner bigint, seq bigint, campaign_id bigint, n int, used int, attempted int, charged int, texts jsonb,
        first_id bigint, last_id bigint)
    ), intents as materialized (
      select * from unnest(ended_owners, ended_seqs) as e (owner, seq)
    ), elsewhere as materialized (
      -- Messages of batches are in the blocks of these, unless one was divided.
      select c.id from unnest(changed) as c (id)
      where (c.id in (select i.id from unnest(ids, others) as i (id, o) where i.o ? 'block')) is not true or
        -- <is_divided>
        exists (
        select 1 from batches t where not exists (
          select 1 from campaign_blocks b
          where b.campaign_id = t.campaign_id and b.n = t.n and b.first_id <= t.first_id and b.last_id >= t.last_id))
        -- </is_divided>
    ), updated as materialized (
      select m.campaign_id, m.id from elsewhere e cross join lateral (
        select * from messages o where o.id = e.id and o.id between ids[1] and ids[cardinality(ids)] offset 0) m
      where m.campaign_id is not null
    ), uncharged as materialized (
      -- A report has shown before that these were not sent.
      select t.campaign_id, t.n, i.id
      from unnest(ids, others) as i (id, o) join batches t
        on t.campaign_id = (i.o ->> 'campaignId')::bigint and t.n = (i.o ->> 'block')::int
          and i.id between t.first_id and t.last_id
      join intents e on e.owner = t.owner and e.seq = t.seq
      cross join lateral (
        select unsent_at from messages o where o.id = i.id and o.id between ids[1] and ids[cardinality(ids)] offset 0) m
      where (i.id in (select unnest(changed))) is not true and m.unsent_at is not null
        and coalesce(i.o ->> 'queue', 'delete') = 'delete' and not i.o ? 'giveBack' and (i.o ->> 'keep' = '0') is not true
    ), unknowns as materialized (
      select (i.o ->> 'campaignId')::bigint as campaign_id, (i.o ->> 'block')::int as n, i.id
      from unnest(ids, statuses, others) as i (id, status, o)
      where i.o ? 'block' and i.status = 'unknown' and coalesce(i.o ->> 'queue', 'delete') = 'delete'
        and i.id not in (select id from uncharged)
    )
    -- <changed_blocks>
    , changed_blocks as materialized (
      select locked.* from (select distinct campaign_id, n from (
          select o.campaign_id, o.n from (select campaign_id, id from updated) u cross join lateral (
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
        from (select least(b.price_units, greatest(0, (
                select coalesce(sum(t.charged), 0)::int from batches t
                join intents e on e.owner = t.owner and e.seq = t.seq where
                  t.campaign_id = b.campaign_id and t.n = b.n)
                - (select count(*)::int from uncharged u where u.campaign_id = b.campaign_id and u.n = b.n))) as emails) u
        where b.channel = 'email'
        union all
        select 0, 0, u.texts, c.units, c.millicents
        from (select (
            select jsonb_object_agg(x.key, x.value) from batches t join intents e on e.owner = t.owner and e.seq = t.seq
            cross join lateral jsonb_each(t.texts) x where (x.key::bigint in (select id from uncharged)) is not true and
              t.campaign_id = b.campaign_id and t.n = b.n) as texts) u cross join lateral (
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
            select coalesce(sum(t.used), 0)::int from batches t join intents e on e.owner = t.owner and e.seq = t.seq where
              t.campaign_id = b.campaign_id and t.n = b.n))),
        sandbox_reserved = case when b.sandbox_reserved > 0 then greatest(0, b.sandbox_reserved - ((
            select coalesce(sum(t.attempted), 0)::int from batches t
            join intents e on e.owner = t.owner and e.seq = t.seq where
              t.campaign_id = b.campaign_id and t.n = b.n))) else 0 end,
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
        from (select campaign_id, n, id from unknowns) o) u join block_charges b using (campaign_id, n)
      on conflict do nothing
    )
    -- </unknown_of_blocks>
    select true into is_done;
  end if;

  if enqueues then
    -- A queue row takes over the place that the block has reserved for its message. Its lifetime begins with the first
    -- attempt. The block returns the price, and the row reserves it when it is claimed. If the reaper took the sender
    -- for dead and charged the message as unknown, the row reserves nothing more. The reaper locks blocks, too: they
    -- are locked here by now, so its charges are committed.
    insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, attempt_count, connection_losses,
      domain_id, provider_id, content_bytes, campaign_id, reserved_bucket, price_month, price_millicents, price_units,
      price_country)
    select i.id, b.account_id, b.channel,
      -- <campaign_class>
      2
      -- </campaign_class>
      , now() + make_interval(secs => (i.o ->> 'delaySeconds')::int), now(),
      i.attempt - case when (i.o ->> 'losses')::int > 0 then 1 else 0 end, coalesce((i.o ->> 'losses')::smallint, 0),
      b.domain_id, b.provider_id, coalesce((i.o ->> 'bytes')::int, 0), b.campaign_id, b.reserved_bucket,
      case when p.charged then current_month() end, case when p.charged then 0 end,
      -- <retry_price>
      case when p.charged then 0 when b.channel = 'sms' then coalesce((b.price_list -> i.id::text ->> 1)::smallint, (
        select v.segments from campaigns c join template_versions v on v.id = c.version_ids[b.variant + 1]
        where c.id = b.campaign_id)) end,
      case b.channel when 'sms' then (select phone_country(m.to_key) from messages m where m.id = i.id) end
      -- </retry_price>
    from unnest(ids, attempts, others) as i (id, attempt, o)
    join campaign_blocks b on b.campaign_id = (i.o ->> 'campaignId')::bigint and b.n = (i.o ->> 'block')::int
    cross join lateral (select has_unknown_charge(i.id) as charged offset 0) p
    where i.o ->> 'queue' = 'enqueue'
    on conflict (message_id) do nothing;
  end if;

  if settles and (cardinality(leaving) > 0 or cleared is not null or cardinality(lowered_ids) > 0) then
    with unknowns as materialized (
      select id from unnest(ids, statuses) as i (id, status) where status = 'unknown'
    )
    -- <leave_queue>
    , removed as (
      delete from send_queue where message_id = any(leaving)
      returning message_id, account_id, reserved_bucket, price_month, price_millicents, price_units,
        split_part(channel, '_', 1) as channel
    ), cleared as materialized (
      select account_id, channel, null::timestamptz, month, millicents, units from take_unknown_charges(cleared)
    ), lowered as materialized (
      select l.account_id, l.channel, null::timestamptz, l.month, l.millicents, l.units
      from (select array_agg(id) as ids, array_agg(segments::int) as counts
        from (select id, segments from unnest(lowered_ids, lowered_segments) as l (id, segments)) s) k
      cross join lateral lower_unknown_charges(k.ids, k.counts) l
    ), unknown_kept as (
      insert into unknown_charges (message_id, account_id, channel, month, millicents, units)
      select message_id, account_id, channel, price_month, coalesce(price_millicents, 0), price_units
      from removed where message_id = any(array(select id from unknowns)) and price_month is not null and price_units > 0
      on conflict do nothing
    ), months_returned as materialized (
      select account_id, price_month as month,
        coalesce(sum(price_units) filter (where channel = 'email'), 0) as emails,
        coalesce(sum(price_units) filter (where channel = 'email' and price_millicents = 0), 0) as free,
        coalesce(sum(price_units) filter (where channel = 'sms'), 0) as texts,
        coalesce(sum(price_millicents), 0) as millicents
      from (
        select r.account_id, r.channel, case
          when r.message_id = any(given_back) then r.reserved_bucket end as reserved_bucket,
          r.price_month,
          r.price_millicents * (r.price_units - k.keep) / greatest(1, r.price_units) as price_millicents,
          r.price_units - k.keep as price_units
        from removed r cross join lateral (
          select case when r.message_id = any(given_back) then 0
            else (select least(k.keep, r.price_units)
            from (select id as message_id, (o ->> 'keep')::int as keep from unnest(ids, others) as i (id, o)
              where o ? 'keep') k
            where k.message_id = r.message_id) end as keep) k
        where k.keep < r.price_units or k.keep = 0 union all select * from cleared union all select * from lowered) unsent
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
          when r.message_id = any(given_back) then r.reserved_bucket end as reserved_bucket,
          r.price_month,
          r.price_millicents * (r.price_units - k.keep) / greatest(1, r.price_units) as price_millicents,
          r.price_units - k.keep as price_units
        from removed r cross join lateral (
          select case when r.message_id = any(given_back) then 0
            else (select least(k.keep, r.price_units)
            from (select id as message_id, (o ->> 'keep')::int as keep from unnest(ids, others) as i (id, o)
              where o ? 'keep') k
            where k.message_id = r.message_id) end as keep) k
        where k.keep < r.price_units or k.keep = 0 union all select * from cleared union all select * from lowered) unsent
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
  elsif gives_back then
    with started as (select)
    -- <leave_unpriced>
    , removed as (
      delete from send_queue where message_id = any(leaving)
      returning message_id, account_id, reserved_bucket
    ), allowance_unused as materialized (
      select account_id, reserved_bucket as bucket, count(*)::int as count
      from (select * from removed where message_id = any(given_back)) unsent
      where reserved_bucket is not null group by account_id, reserved_bucket
    ), allowance_given_back as (
      insert into allowance_buckets as b (account_id, bucket, used)
      select account_id, bucket, 0 from allowance_unused where true order by account_id, bucket
      on conflict (account_id, bucket) do update set used = greatest(0, b.used - (
          select u.count from allowance_unused u where u.account_id = b.account_id and u.bucket = b.bucket))
      returning 1
    )
    -- </leave_unpriced>
    select true into is_done;
  end if;

  if cardinality(staying) > 0 then
    update send_queue q set owner = null,
      due_at = case when i.o ->> 'queue' in ('retry', 'postpone')
        then now() + make_interval(secs => (i.o ->> 'delaySeconds')::int) else q.due_at end,
      attempt_count = case i.o ->> 'queue' when 'retry' then greatest(q.attempt_count, i.attempt) else q.attempt_count end
    from unnest(ids, attempts, others) as i (id, attempt, o)
    where i.o ->> 'queue' in ('retry', 'postpone', 'release') and q.message_id = any(staying) and q.message_id = i.id
      and q.owner = (i.o ->> 'owner')::bigint and q.claim_epoch = (i.o ->> 'epoch')::int;
  end if;

  silent := coalesce(silent, '{}');
  sent_before := coalesce(sent_before, '{}');
end $$;
