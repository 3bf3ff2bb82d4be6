-- Prepared as write_messages+keys+priced_new_emails+all_limits+tracking_6
-- Written by npm run sql: see docs/statements.md.
--
-- Writes a group of messages of POST /messages.
-- Defined in src/features/messages/write-group.ts, sent by writeRows().
--
-- $1 json: the messages, with the fields of their source
-- $2 jsonb: the settings of the limits
-- $3 jsonb: the address and the key of tracked links

with given as materialized (select *
  from json_to_recordset($1) as i ("id" bigint, "account_id" bigint, "brand_id" bigint, "channel" text,
      "class" smallint, "status" text, "test" boolean, "segments" smallint, "to_address" text, "to_key" text,
      "from_address" text, "reply_to" text, "subject" text, "campaign_id" bigint, "flow_id" bigint, "template_id" bigint,
      "content_version_id" bigint, "tags" jsonb, "tracking" jsonb, "idempotency_key" text, "provider" text,
      "sent_at" timestamptz, "delivered_at" timestamptz, "failure" jsonb, "bounce" jsonb, "answers_mail" boolean,
      "html" text, "text" text, "headers" jsonb, "domain_id" bigint, "provider_id" bigint, "default_from" text,
      "fingerprint" text)),
  purse as materialized (
  select g.account_id, g.emails, r.price_month, r.price_millicents, 1 as price_units
  from (select min(account_id) as account_id, count(*)::int as emails from given) g
  cross join lateral reserve_emails_427997c4(g.account_id, g.emails, $2::jsonb) r),
  input as (select * from given where (select count(*) from purse) > 0), keys as (
  insert into idempotency_keys as kept (brand_id, endpoint, key, fingerprint, status, resource_id)
  select brand_id, case when test then 'POST /v1/my/messages (test)' else 'POST /v1/my/messages' end, idempotency_key,
    decode(fingerprint, 'base64'), 201, id
  from input where idempotency_key is not null
  order by brand_id, 2, idempotency_key
  on conflict (brand_id, endpoint, key) do update
  set fingerprint = excluded.fingerprint, resource_id = excluded.resource_id, created_at = now()
  where kept.created_at < now() - interval '7 days'
  returning resource_id
), accepted as (
  select i.*, coalesce(i.from_address,
      case when coalesce(a.email_from_name, '') = '' then i.default_from
      else '"' || replace(replace(a.email_from_name, '\', '\\'), '"',
        '\"') || '" <' || i.default_from || '>' end) as sender,
    coalesce(i.reply_to, case i.channel when 'email' then a.email_reply_to end) as reply_address, case
    when case i.channel when 'email' then a.email_provider_ids else a.sms_provider_ids end is null
    then coalesce(i.provider_id, 0)
    else choose_provider(i.channel, i.provider_id,
      case i.channel when 'email' then a.email_provider_ids else a.sms_provider_ids end) end as route,
    case when i.channel = 'email' and coalesce(i.html, '') <> '' then (
    select case when w.opens or w.clicks
      then jsonb_strip_nulls(jsonb_build_object('opens', w.opens, 'clicks', w.clicks, 'host', w.host,
          'own', nullif($3::jsonb->>'publicUrl', w.host), 'key', $3::jsonb->>'keyId'))
      else jsonb_build_object('opens', false, 'clicks', false) end
    from (
      select h.host,
        h.host is not null and b.track_opens and coalesce((i.tracking->>'opens')::boolean, true) as opens,
        h.host is not null and b.track_clicks and coalesce((i.tracking->>'clicks')::boolean, true)
        and i.domain_id is not null as clicks
      from brands b, (select coalesce(
            (select 'https://' || d.tracking_host from domains d
            where d.id = i.domain_id and d.tracking_ok_at is not null),
            $3::jsonb->>'publicUrl') as host offset 0) h
      where b.id = i.brand_id
    ) w
  ) else case i.channel
    when 'email' then '{"opens": false, "clicks": false}'::jsonb end end as tracked, a.kind, purse.price_month,
    purse.price_millicents, purse.price_units
  from input i join accounts a on a.id = i.account_id cross join purse
  where (i.idempotency_key is null or i.id in (select resource_id from keys))
), written as (
  insert into messages (id, account_id, brand_id, channel, class, status, test, segments, to_address, to_key,
      from_address, reply_to, subject, campaign_id, flow_id, template_id, content_version_id, tags, tracking,
      idempotency_key, provider, sent_at, delivered_at, failure, bounce, answers_mail)
  select id, account_id, brand_id, channel, class, status, test, segments, to_address, to_key, sender, reply_address,
    subject, campaign_id, flow_id, template_id, content_version_id, tags, tracked, idempotency_key, provider, sent_at,
    delivered_at, failure, bounce, answers_mail
  from accepted returning 1
), contents as (insert into message_contents (message_id, html, text, headers)
  select id, html, text, headers from accepted returning 1), queued as (
  insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, content_bytes,
      content_weight, domain_id, provider_id, price_month, price_millicents, price_units)
  select id, account_id, channel, class, now(), now(), coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0)
    + coalesce(octet_length(headers::text), 0),
    coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0)
    + coalesce(octet_length(headers::text), 0) + 4 * (coalesce(octet_length(headers::text), 0)
      + case when text is null then coalesce(octet_length(html), 0) else 0 end), domain_id, route, price_month,
    price_millicents, price_units
  from accepted where status = 'queued' returning 1
), sandbox_used as (
  insert into sandbox_usage as u (account_id, month, used)
  select account_id, date_trunc('month', now() at time zone 'utc')::date, count(*)
  from accepted where (not test or status = 'queued') and channel = 'email' and domain_id is null and kind = 'customer'
    and (select count(*) from written) + (select count(*) from contents) + (select count(*) from queued) > 0
  group by 1 order by 1
  on conflict (account_id, month) do update set used = u.used + excluded.used
  returning case when u.used > (
    select coalesce(a.sandbox_monthly_cap, ($2::jsonb ->> 'sandbox_monthly_cap')::int)
    from accounts a where a.id = u.account_id)
    then refuse_over_sandbox_cap(u.account_id) end as refused), repeated as (
  select refuse_beyond_purse(account_id) as refused from purse
  where emails > (select count(*) from accepted))
select id, sender as from_address, reply_address as reply_to, tracked as tracking, now() as created_at,
  case when status = 'queued' then nullif(route, 0) end as provider_id
from accepted where (select count(refused) from sandbox_used) >= 0 and (select count(refused) from repeated) >= 0
