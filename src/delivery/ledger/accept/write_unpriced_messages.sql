-- Accepts messages that cost nothing, in one statement: takes their idempotency keys, writes them with their contents and
-- queue rows, and counts them in the limits. Returns the messages that are written. Those whose key an earlier request has
-- taken, or which cost something, are left out. A limit that has too little left raises its
-- SQLSTATE instead, which undoes everything. Whatever costs something, ends with its outcome or is rendered by the senders
-- is written by write_messages.sql, which does the same and more, but takes a tenth longer.
--
-- sent by: acceptMessages
-- $1 json: the messages, with the columns of new-message.ts
-- $2 jsonb: the address and the key of tracked links; null: no message is tracked
-- $3 jsonb: the settings of the limits
-- parts: keys, unless no message has a key; limits, unless no limit counts one of the messages
-- locks: idempotency_keys, in the order of the key; then only what it inserts, until the counters of the limits, in the
--   order of the accounts. Requests of the same account in other processes wait for a counter until the commit, so it is
--   locked after everything is written
with given as (
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
    )
    as reply_address,
    -- <route>
    case when case i.channel when 'email' then a.email_provider_ids
    else a.sms_provider_ids end is null then coalesce(i.provider_id, 0)
    else choose_provider(i.channel, i.provider_id, case i.channel when 'email' then a.email_provider_ids
      else a.sms_provider_ids end) end
    -- </route>
    as route,
    -- <tracked>
      case when i.channel = 'email' and $2::jsonb is not null and coalesce(i.html, '') <> '' then (
      select case when w.opens or w.clicks
        then jsonb_strip_nulls(jsonb_build_object('opens', w.opens, 'clicks', w.clicks, 'host', w.host,
            'own', nullif($2::jsonb->>'publicUrl', w.host), 'key', $2::jsonb->>'keyId'))
        else jsonb_build_object('opens', false, 'clicks', false) end
      from (
        select h.host,
          h.host is not null and b.track_opens and coalesce((i.tracking->>'opens')::boolean, true) as opens,
          h.host is not null and b.track_clicks and coalesce((i.tracking->>'clicks')::boolean, true)
          and i.domain_id is not null as clicks
        from brands b, (select coalesce(
              (select 'https://' || d.tracking_host from domains d
              where d.id = i.domain_id and d.tracking_ok_at is not null),
              $2::jsonb->>'publicUrl') as host offset 0) h
        where b.id = i.brand_id
      ) w
    ) else case i.channel when 'email' then '{"opens": false, "clicks": false}'::jsonb end end
    -- </tracked>
    as tracked
  from json_to_recordset($1) as i (
    -- <input_columns>
    "id" bigint, "account_id" bigint, "brand_id" bigint, "channel" text, "class" smallint, "status" text, "test" boolean,
    "segments" smallint, "to_address" text, "to_key" text, "from_address" text, "reply_to" text, "subject" text,
    "campaign_id" bigint, "flow_id" bigint, "template_id" bigint, "content_version_id" bigint, "tags" jsonb,
    "tracking" jsonb, "idempotency_key" text, "provider" text, "sent_at" timestamptz, "delivered_at" timestamptz,
    "failure" jsonb, "bounce" jsonb, "answers_mail" boolean, "html" text, "text" text, "headers" jsonb, "domain_id" bigint,
    "provider_id" bigint, "default_from" text, "events" jsonb, "key_space" text, "fingerprint" text
    -- </input_columns>
  )
  join accounts a on a.id = i.account_id
  where
    -- <costs_nothing>
    not (a.kind = 'customer' and not a.comped and not i.test and exists (
      select from prices p
      where p.tier = a.tier and p.kind = i.channel and (p.kind = 'sms' or p.millicents > 0)))
    -- </costs_nothing>
)
-- [keys]
, keys as (
  insert into idempotency_keys as kept (brand_id, endpoint, key, fingerprint, status, resource_id)
  select brand_id, key_space, idempotency_key, decode(fingerprint, 'base64'), 201, id
  from given where idempotency_key is not null
  order by brand_id, key_space, idempotency_key
  on conflict (brand_id, endpoint, key) do update
  set fingerprint = excluded.fingerprint, resource_id = excluded.resource_id, created_at = now()
  where kept.created_at < now() - make_interval(days =>
    -- <idempotency_days>
    7
    -- </idempotency_days>
  )
  returning resource_id
  -- What follows asks for the key each time: another copy of the messages without the others would cost more.
)
-- [/keys]
, stored as (
  insert into messages (
    -- <message_columns>
    id, account_id, brand_id, channel, class, status, test, segments, to_address, to_key, from_address, reply_to, subject,
    campaign_id, flow_id, template_id, content_version_id, tags, tracking, idempotency_key, provider, sent_at, delivered_at,
    failure, bounce, answers_mail
    -- </message_columns>
  ) select
    -- <message_values>
    id, account_id, brand_id, channel, class, status, test, segments, to_address, to_key, sender, reply_address, subject,
    campaign_id, flow_id, template_id, content_version_id, tags, tracked, idempotency_key, provider, sent_at, delivered_at,
    failure, bounce, answers_mail
    -- </message_values>
  from given
  -- [keys]
  where idempotency_key is null or id in (select resource_id from keys)
  -- [/keys]
  returning 1
), contents as (
  insert into message_contents (message_id,
    -- <content_columns>
    html, text, headers
    -- </content_columns>
  ) select id,
    -- <content_columns>
    html, text, headers
    -- </content_columns>
  from given
  -- [keys]
  where idempotency_key is null or id in (select resource_id from keys)
  -- [/keys]
  returning 1
), queued as (
  insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, content_bytes, content_weight,
    domain_id, provider_id)
  select id, account_id, channel, class, now(), now(),
    -- <content_bytes>
    coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0)
    + coalesce(octet_length(headers::text), 0)
    -- </content_bytes>
    ,
    -- <content_weight>
    coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0)
    + coalesce(octet_length(headers::text), 0) + 4 * (coalesce(octet_length(headers::text), 0)
      + case when text is null then coalesce(octet_length(html), 0) else 0 end)
    -- </content_weight>
    , domain_id, route
  from given
  where status = 'queued'
    -- [keys]
    and (idempotency_key is null or id in (select resource_id from keys))
    -- [/keys]
  returning 1
)
-- [limits]
, counted as (
  select * from given
  where $3::jsonb is not null
    and (select count(*) from stored) + (select count(*) from contents) + (select count(*) from queued) > 0
    -- [keys]
    and (idempotency_key is null or id in (select resource_id from keys))
    -- [/keys]
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
    select coalesce(a.sandbox_monthly_cap, ($3::jsonb ->> 'sandbox_monthly_cap')::int)
    from accounts a where a.id = u.account_id)
    then refuse_over_sandbox_cap(u.account_id) end as refused)
-- </limits>
-- [/limits]
select id, sender as from_address, reply_address as reply_to, tracked as tracking, now() as created_at,
  case when status = 'queued' then nullif(route, 0) end as provider_id
from given
where true
  -- [keys]
  and (idempotency_key is null or id in (select resource_id from keys))
  -- [/keys]
  -- [limits]
  and (
    -- <refused>
    (select count(refused) from sandbox_used)
    -- </refused>
  ) >= 0
  -- [/limits]
