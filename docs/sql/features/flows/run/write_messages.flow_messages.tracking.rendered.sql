-- Prepared as write_messages+flow_messages+tracking+rendered_6
-- Written by npm run sql: see docs/statements.md.
--
-- Writes the message of a step of a flow.
-- Defined in src/features/flows/run/send.ts, sent by writeStepMessage().
--
-- $1 json: the messages, with the fields of their source
-- $2 jsonb: the settings of the limits

with input as (select *
  from json_to_recordset($1) as i ("id" bigint, "account_id" bigint, "brand_id" bigint, "channel" text,
      "class" smallint, "status" text, "test" boolean, "segments" smallint, "to_address" text, "to_key" text,
      "from_address" text, "reply_to" text, "subject" text, "campaign_id" bigint, "flow_id" bigint, "template_id" bigint,
      "content_version_id" bigint, "tags" jsonb, "tracking" jsonb, "idempotency_key" text, "provider" text,
      "sent_at" timestamptz, "delivered_at" timestamptz, "failure" jsonb, "bounce" jsonb, "answers_mail" boolean,
      "html" text, "text" text, "headers" jsonb, "domain_id" bigint, "provider_id" bigint, "default_from" text,
      "flow_run_id" bigint, "flow_step_id" integer, "contact_id" bigint, "version_bytes" integer)),
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
    case when i.channel = 'email' and true then (
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
  ) else case i.channel when 'email' then '{"opens": false, "clicks": false}'::jsonb end end as tracked
  from input i join accounts a on a.id = i.account_id
), written as (
  insert into messages (id, account_id, brand_id, channel, class, status, test, segments, to_address, to_key,
      from_address, reply_to, subject, campaign_id, flow_id, template_id, content_version_id, tags, tracking,
      idempotency_key, provider, sent_at, delivered_at, failure, bounce, answers_mail, flow_run_id, flow_step_id,
      contact_id)
  select id, account_id, brand_id, channel, class, status, test, segments, to_address, to_key, sender, reply_address,
    subject, campaign_id, flow_id, template_id, content_version_id, tags, tracked, idempotency_key, provider, sent_at,
    delivered_at, failure, bounce, answers_mail, flow_run_id, flow_step_id, contact_id
  from accepted
), queued as (
  insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, content_bytes,
      content_weight, domain_id, provider_id, flow_id, price_units, price_country)
  select id, account_id, channel, class, now(), now(), coalesce(version_bytes, 0),
    0, domain_id, route, flow_id, case when channel = 'sms' then (
    select v.segments from template_versions v where v.id = content_version_id) end,
    case when channel = 'sms' then phone_country(to_key) end
  from accepted where status = 'queued'
), flow_accepted as (
  insert into flow_count_changes (flow_id, step_id, name, change)
  select flow_id, flow_step_id, 'accepted', 1 from accepted where not test
)
select id, sender as from_address, reply_address as reply_to, tracked as tracking, now() as created_at,
  case when status = 'queued' then nullif(route, 0) end as provider_id
from accepted
