-- Prepared as write_messages+refused_answer+all_limits_6
-- Written by npm run sql: see docs/statements.md.
--
-- Writes the answer to HELP.
-- Defined in src/features/sms/inbound.ts, sent by writeHelp().
--
-- $1 json: the messages, with the fields of their source
-- $2 jsonb: the settings of the limits

with input as (select *
  from json_to_recordset($1) as i ("id" bigint, "account_id" bigint, "brand_id" bigint, "channel" text,
      "class" smallint, "status" text, "test" boolean, "segments" smallint, "to_address" text, "to_key" text,
      "from_address" text, "reply_to" text, "subject" text, "campaign_id" bigint, "flow_id" bigint, "template_id" bigint,
      "content_version_id" bigint, "tags" jsonb, "tracking" jsonb, "idempotency_key" text, "provider" text,
      "sent_at" timestamptz, "delivered_at" timestamptz, "failure" jsonb, "bounce" jsonb, "answers_mail" boolean,
      "html" text, "text" text, "headers" jsonb, "domain_id" bigint, "provider_id" bigint, "default_from" text)),
  accepted as (
  select i.*, coalesce(i.from_address,
      case when coalesce(a.email_from_name, '') = '' then i.default_from
      else '"' || replace(replace(a.email_from_name, '\', '\\'), '"',
        '\"') || '" <' || i.default_from || '>' end) as sender,
    coalesce(i.reply_to, case i.channel when 'email' then a.email_reply_to end) as reply_address, case
    when case i.channel when 'email' then a.email_provider_ids else a.sms_provider_ids end is null
    then coalesce(i.provider_id, 0)
    else choose_provider(i.channel, i.provider_id,
      case i.channel when 'email' then a.email_provider_ids else a.sms_provider_ids end) end as route,
    case i.channel when 'email' then '{"opens": false, "clicks": false}'::jsonb end as tracked, a.kind
  from input i join accounts a on a.id = i.account_id
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
      content_weight, domain_id, provider_id)
  select id, account_id, channel, class, now(), now(), coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0)
    + coalesce(octet_length(headers::text), 0),
    coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0)
    + coalesce(octet_length(headers::text), 0) + 4 * (coalesce(octet_length(headers::text), 0)
      + case when text is null then coalesce(octet_length(html), 0) else 0 end), domain_id, route
  from accepted where status = 'queued' returning 1
), refused_answer as (
  insert into message_events (message_id, attempt, type, data)
  select id, 1, 'failed', jsonb_build_object('failure', failure) from accepted where status = 'failed'
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
    then refuse_over_sandbox_cap(u.account_id) end as refused)
select id, sender as from_address, reply_address as reply_to, tracked as tracking, now() as created_at,
  case when status = 'queued' then nullif(route, 0) end as provider_id
from accepted where (select count(refused) from sandbox_used) >= 0
