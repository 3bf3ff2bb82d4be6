-- Accepts messages: takes their idempotency keys, reserves what they cost, writes those that may be written with their
-- contents and queue rows, and counts them in the limits. Returns the messages with their outcomes: written, charged
-- (written, and its price is reserved), or the reason why it is not: no_price, spend_cap_reached or insufficient_funds.
-- Messages whose key an earlier request has taken, or which were to be left out, are not returned. A limit that has too
-- little left raises its SQLSTATE instead, which undoes everything.
--
-- sent by: acceptMessages
-- called by: accept_set
-- given: the messages, with the columns of new-message.ts
-- ids: their ids
-- accounts: their accounts
-- channels: their channels, if they reserve or are counted
-- segments: their segments, if they reserve or are counted
-- numbers: the keys of their recipients, if they reserve, or if one is a rendered text
-- brands: their brands, if one has a key
-- endpoints: the names under which their keys are kept, if one has a key
-- keys: their keys; null: none has one
-- fingerprints: the fingerprints of their requests in Base64, if one has a key
-- scheduled: the times when they are to be sent; null: none has one
-- domains: their sending domains, if they are counted
-- statuses: their states, if they are counted
-- tests: whether they are tests, if they are counted
-- ended: the id, account, test, events, failure and ends_at of those that are tests or have events; null: there are none
-- reserving: whether to reserve prices
-- only_free: whether to leave out messages that cost something
-- rendered: whether the senders render the contents, so that none is stored
-- limited: whether the limits count the messages
-- settings: the settings of the limits
-- links: the address and the key of tracked links; null: no message is tracked
-- routes: the providers of those that are copies of a letter; null: none is one
-- aliases: the id, brand and digest of those whose clients gave them a Message-ID; null: there are none
-- locks: account_months and wallets, in the order of the accounts; idempotency_keys, in the order of the key; then only
--   what it inserts, then message_aliases, in the order of the digest, until the counters of the limits, in the order of the accounts; then, for test messages, an advisory
--   lock for each account. Requests of the same account in other processes wait for a counter until the commit, so it is
--   locked after everything is written
-- sees: what accounts have left once that is locked, and the keys that other requests committed while it waited for them.
--   Accounts, brands, domains and prices are read later, by the query that inserts, so a change that is committed during
--   these waits counts. The counters are read as they are locked
create function write_messages(
  given json, ids bigint[], accounts bigint[], channels text[] default null, segments int[] default null,
  numbers text[] default null, brands bigint[] default null, endpoints text[] default null, keys text[] default null,
  fingerprints text[] default null, scheduled timestamptz[] default null, domains bigint[] default null,
  statuses text[] default null, tests boolean[] default null, ended json default null, reserving boolean default false,
  only_free boolean default false, rendered boolean default false, limited boolean default false,
  settings jsonb default null, links jsonb default null, routes bigint[] default null,
  aliases json default null)
returns table (
  id bigint, outcome text, from_address text, reply_to text, tracking jsonb, created_at timestamptz, provider_id bigint)
-- A plan for its values would save nothing: PostgreSQL prefers it because it leaves out parts, but planning costs more
-- than the parts.
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  taken bigint[];
  left_out bigint[] := '{}';
  refusals text[];
  priced date;
  prices bigint[];
  units int[];
  countries text[];
  count int;
  -- Null: all of them.
  written bigint[];
  refused bigint;
begin
  if reserving or keys is not null then
    if reserving then
      select r.in_month, r.prices, r.units, r.refusals into priced, prices, units, refusals
      from reserve_messages(accounts, channels, numbers, segments, settings) r;
    end if;
    if keys is not null then
      with inserted as (
        insert into idempotency_keys as kept (brand_id, endpoint, key, fingerprint, status, resource_id, created_at)
        select i.brand_id, i.endpoint, i.key, decode(i.fingerprint, 'base64'), 201, i.id,
          -- Its days begin when the message is final at the latest.
          coalesce(i.scheduled_at +
            -- <lifetime>
            interval '72 hours'
            -- </lifetime>
            , now())
        from unnest(ids, brands, endpoints, keys, fingerprints, scheduled)
          as i (id, brand_id, endpoint, key, fingerprint, scheduled_at)
        where i.key is not null
        order by i.brand_id, i.endpoint, i.key
        on conflict (brand_id, endpoint, key) do update
        set fingerprint = excluded.fingerprint, resource_id = excluded.resource_id, created_at = excluded.created_at
        where kept.created_at < now() - make_interval(days =>
          -- <idempotency_days>
          7
          -- </idempotency_days>
        )
        returning resource_id
      )
      select coalesce(array_agg(resource_id), '{}') into taken from inserted;
      if cardinality(taken) < cardinality(array_remove(keys, null)) then
        for n in 1 .. cardinality(ids) loop
          if keys[n] is not null and ids[n] <> all (taken) then left_out := left_out || ids[n]; end if;
        end loop;
        if reserving then
          -- A repeated request costs nothing: what it would take may be enough for another.
          update account_months m
          set email_units = m.email_units - i.emails, free_units = m.free_units - i.free_emails,
            sms_units = m.sms_units - i.texts, spent_millicents = m.spent_millicents - i.spent
          from (
            select i.account_id, sum(i.price) as spent,
              coalesce(sum(i.units) filter (where
                -- <paid_by_message>
                i.channel = 'email'
                -- </paid_by_message>
              ), 0) as emails,
              count(*) filter (where i.price = 0 and
                -- <paid_by_message>
                i.channel = 'email'
                -- </paid_by_message>
              ) as free_emails,
              coalesce(sum(i.units) filter (where not
                -- <paid_by_message>
                i.channel = 'email'
                -- </paid_by_message>
              ), 0) as texts
            from unnest(accounts, channels, prices, units) as i (account_id, channel, price, units)
            where i.price is not null group by 1) i
          where m.account_id = i.account_id and m.month = priced;
          select r.in_month, r.prices, r.units, r.refusals into priced, prices, units, refusals
          from reserve_messages(
            array(select case when i.id <> all (left_out) then i.account_id end
              from unnest(ids, accounts) with ordinality as i (id, account_id, n) order by i.n),
            channels, numbers, segments, settings) r;
        end if;
      end if;
    end if;
    if refusals is not null then
      for n in 1 .. cardinality(ids) loop
        if refusals[n] is not null then left_out := left_out || ids[n]; end if;
      end loop;
    end if;
  end if;
  if rendered and numbers is not null then
    -- The price of a rendered text is reserved in a claim. It depends on the most segments that its version may take.
    select array_agg(v.segments order by i.n), array_agg(case when v.id is not null then phone_country(numbers[i.n]) end order by i.n)
    into units, countries
    from rows from (json_to_recordset(given) as (channel text, content_version_id bigint)) with ordinality
      as i (channel, content_version_id, n)
    left join template_versions v on v.id = i.content_version_id and
      -- <paid_by_segment>
      i.channel = 'sms'
      -- </paid_by_segment>
    ;
  end if;
  if scheduled is not null then
    -- Messages are rarely scheduled, so the query that inserts them does without a part that routes these.
    routes := array(
      select coalesce(routes[i.ordinality], case when i.scheduled_at is not null then
        -- <scheduled_route>
        case when case i.channel when 'email' then a.email_provider_ids
        else a.sms_provider_ids end is null then coalesce(i.provider_id, 0)
        else coalesce((
          select c.id
          from unnest(i.provider_id || case i.channel when 'email' then a.email_provider_ids
              else a.sms_provider_ids end) with ordinality as c (id, n)
          where c.id = 0 or exists (
            select from providers p where p.id = c.id and p.channel = i.channel and p.removed_at is null)
          order by c.n limit 1), 0) end
        -- </scheduled_route>
      end)
      from rows from (json_to_recordset(given) as (
        account_id bigint, channel text, provider_id bigint, scheduled_at timestamptz)) with ordinality
        as i (account_id, channel, provider_id, scheduled_at, ordinality)
      left join accounts a on a.id = i.account_id
      order by i.ordinality);
  end if;
  return query
  with accepted as (
    select i.*, a.kind,
      -- <sender>
      coalesce(i.from_address, case when coalesce(a.email_from_name, '') = '' then i.default_from
        else '"' || replace(replace(a.email_from_name, '\', '\\'), '"', '\"') || '" <' || i.default_from || '>' end)
      -- </sender>
      as sender,
      coalesce(i.reply_to,
        -- <reply_to>
        case i.channel when 'email' then a.email_reply_to end
        -- </reply_to>
      ) as reply_address,
      coalesce(routes[i.ordinality],
      -- <route>
      case when case i.channel when 'email' then a.email_provider_ids
      else a.sms_provider_ids end is null then coalesce(i.provider_id, 0)
      else choose_provider(i.channel, i.provider_id, case i.channel when 'email' then a.email_provider_ids
        else a.sms_provider_ids end) end
      -- </route>
      ) as route,
      -- <tracked>
        case when i.channel = 'email' and links is not null and (rendered or i.has_html or coalesce(i.html, '') <> '') then (
        select case when w.opens or w.clicks
          then jsonb_strip_nulls(jsonb_build_object('opens', w.opens, 'clicks', w.clicks, 'host', w.host,
              'own', nullif(links->>'publicUrl', w.host), 'key', links->>'keyId'))
          else jsonb_build_object('opens', false, 'clicks', false) end
        from (
          select h.host,
            h.host is not null and b.track_opens and coalesce((i.tracking->>'opens')::boolean, true) as opens,
            h.host is not null and b.track_clicks and coalesce((i.tracking->>'clicks')::boolean, true)
            and i.domain_id is not null as clicks
          from brands b, (select coalesce(
                (select 'https://' || d.tracking_host from domains d
                where d.id = i.domain_id and d.tracking_ok_at is not null),
                links->>'publicUrl') as host offset 0) h
          where b.id = i.brand_id
        ) w
      ) else case i.channel when 'email' then '{"opens": false, "clicks": false}'::jsonb end end
      -- </tracked>
      as tracked
    from rows from (json_to_recordset(given) as (
      -- <input_columns>
      "id" bigint, "account_id" bigint, "brand_id" bigint, "channel" text, "class" smallint, "status" text, "test" boolean,
      "segments" smallint, "to_address" text, "to_key" text, "from_address" text, "reply_to" text, "subject" text,
      "campaign_id" bigint, "flow_id" bigint, "template_id" bigint, "content_version_id" bigint, "tags" jsonb,
      "tracking" jsonb, "idempotency_key" text, "provider" text, "sent_at" timestamptz, "delivered_at" timestamptz,
      "failure" jsonb, "bounce" jsonb, "answers_mail" boolean, "html" text, "text" text, "headers" jsonb, "domain_id" bigint,
      "provider_id" bigint, "default_from" text, "events" jsonb, "flow_run_id" bigint, "flow_step_id" integer,
      "contact_id" bigint, "version_bytes" integer, "letter_id" bigint, "recipient_kind" text, "has_html" boolean,
      "is_raw" boolean, "whole_bytes" integer, "whole_weight" integer, "file_bytes" integer, "scheduled_at" timestamptz,
      "send_key_id" bigint
      -- </input_columns>
    )) with ordinality as i
    join accounts a on a.id = i.account_id
    where i.id <> all (left_out)
      and (not only_free or
        -- <costs_nothing>
        not (a.kind = 'customer' and not a.comped and not i.test and exists (
          select from prices p
          where p.tier = a.tier and p.kind = i.channel and (p.kind = 'sms' or p.millicents > 0)))
        -- </costs_nothing>
      )
  ), stored as (
    insert into messages (
      -- <message_columns>
      id, account_id, brand_id, channel, class, status, test, segments, to_address, to_key, from_address, reply_to, subject,
      campaign_id, flow_id, template_id, content_version_id, tags, tracking, idempotency_key, provider, sent_at, delivered_at,
      failure, bounce, answers_mail, flow_run_id, flow_step_id, contact_id, letter_id, recipient_kind, scheduled_at,
      send_key_id
      -- </message_columns>
    ) select
      -- <message_values>
      id, account_id, brand_id, channel, class, status, test, segments, to_address, to_key, sender, reply_address, subject,
      campaign_id, flow_id, template_id, content_version_id, tags, tracked, idempotency_key, provider, sent_at, delivered_at,
      failure, bounce, answers_mail, flow_run_id, flow_step_id, contact_id, letter_id, recipient_kind, scheduled_at,
      send_key_id
      -- </message_values>
    from accepted
  ), contents as (
    insert into message_contents (message_id,
      -- <content_columns>
      html, text, headers
      -- </content_columns>
    ) select id,
      -- <content_columns>
      html, text, headers
      -- </content_columns>
    from accepted where not rendered and letter_id is null
  ), queued as (
    insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, content_bytes, content_weight,
      domain_id, provider_id, flow_id, price_month, price_millicents, price_units, price_country, file_bytes)
    select id, account_id,
      -- Processes that do not know letters, or those of a kind, take nothing from their queue.
      case when letter_id is null then channel when is_raw then 'email_raw' else 'email_whole' end,
      class, coalesce(scheduled_at, now()), coalesce(scheduled_at, now()),
      case when rendered then coalesce(version_bytes, 0) when letter_id is not null then whole_bytes else
        -- <content_bytes>
        coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0)
        + coalesce(octet_length(headers::text), 0)
        -- </content_bytes>
      end,
      case when rendered then 0 when letter_id is not null then whole_weight else
        -- <content_weight>
        coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0)
        + coalesce(octet_length(headers::text), 0) + 4 * (coalesce(octet_length(headers::text), 0)
          + case when text is null then coalesce(octet_length(html), 0) else 0 end)
        -- </content_weight>
      end,
      domain_id, route, case when rendered then flow_id end, case when prices[ordinality] is not null then priced end,
      prices[ordinality],
      units[ordinality], countries[ordinality], coalesce(file_bytes, 0)
    -- A scheduled message of a test key waits for its outcome, and for no sender.
    from accepted where status = 'queued' and provider is distinct from 'test'
  )
  select id, case when prices[ordinality] is null then 'written' else 'charged' end, sender, reply_address, tracked, now(),
    case when status = 'queued' then nullif(route, 0) end
  from accepted;
  get diagnostics count = row_count;
  if count < cardinality(ids) then
    written := array(select m.id from messages m where m.id = any (ids));
    -- Only a message that is written keeps its key.
    delete from idempotency_keys k using unnest(ids, brands, endpoints, keys) as i (id, brand_id, endpoint, key)
    where k.brand_id = i.brand_id and k.endpoint = i.endpoint and k.key = i.key and k.resource_id = i.id
      and i.id <> all (written);
    if refusals is not null then
      return query
        select i.id, i.refusal, null, null, null::jsonb, null::timestamptz, null::bigint
        from unnest(ids, refusals) as i (id, refusal) where i.refusal is not null;
    end if;
  end if;
  if aliases is not null then
    insert into message_aliases (brand_id, digest, message_id)
    select distinct on (i.brand_id, i.digest) i.brand_id, decode(i.digest, 'hex'), i.id
    from json_to_recordset(aliases) as i (id bigint, brand_id bigint, digest text)
    where written is null or i.id = any (written)
    order by i.brand_id, i.digest, i.id desc
    -- A client may give several messages one Message-ID. A reply is to the newest.
    on conflict (brand_id, digest) do update set message_id = excluded.message_id, created_at = excluded.created_at;
  end if;
  if not (rendered or limited or ended is not null) then return; end if;
  if rendered then
    insert into flow_count_changes (flow_id, step_id, name, change)
    select i.flow_id, i.flow_step_id, 'accepted', count(*)
    from json_to_recordset(given) as i (id bigint, flow_id bigint, flow_step_id int, test boolean)
    where (written is null or i.id = any (written)) and not i.test and i.flow_id is not null
    group by 1, 2;
  end if;
  if limited then
    with counted as (
      select i.*, a.kind
      from unnest(ids, accounts, channels, segments, domains, statuses, tests)
        as i (id, account_id, channel, segments, domain_id, status, test)
      join accounts a on a.id = i.account_id
      where written is null or i.id = any (written)
    )
    -- <limits>
    , sandbox_used as (
      insert into sandbox_usage as u (account_id, month, used)
      select account_id, date_trunc('month', now() at time zone 'utc')::date, count(*)
      from counted
      where (not test or status = 'queued') and channel = 'email' and domain_id is null and kind = 'customer'
      group by 1 order by 1
      on conflict (account_id, month) do update set used = u.used + excluded.used
      returning case when u.used > (
        select coalesce(a.sandbox_monthly_cap, (settings ->> 'sandbox_monthly_cap')::int)
        from accounts a where a.id = u.account_id)
        then refuse_over_sandbox_cap(u.account_id) end as refused)
    -- </limits>
    select
      -- <refused>
      (select count(refused) from sandbox_used)
      -- </refused>
    into refused;
  end if;
  if ended is not null then
    with each as (
      select * from json_to_recordset(ended) as i (
        id bigint, account_id bigint, test boolean, events jsonb, failure jsonb, ends_at timestamptz)
      where written is null or id = any (written)
    ), noted as (
      insert into message_events (message_id, attempt, type, data)
      select i.id, 1, e.type, case when not i.test then jsonb_build_object('failure', i.failure) end
      from each i cross join jsonb_array_elements_text(i.events) as e (type)
    ), tested as (
      insert into test_messages (message_id, account_id, ends_at) select id, account_id, ends_at from each where test
      returning account_id, message_id
    )
    select count(refuse_over_test_limit(t.account_id, t.ids,
      -- <test_limit>
      1000
      -- </test_limit>
    )) into refused
    from (select account_id, array_agg(message_id) as ids from tested group by 1 order by 1) t;
  end if;
end $$;
