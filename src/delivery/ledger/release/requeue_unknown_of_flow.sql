-- Queues messages of a flow once more whose outcome is unknown, and which have one sender. They stay `unknown` until they
-- have an outcome.
--
-- sent by: requeueUnknownOfFlow
-- $1 bigint: the account
-- $2 text: the channel
-- $3 bigint: the sending domain; null: an address of the service, or an SMS
-- $4 bigint: the named provider of the domain or number; null: there is none
-- $5 bigint[]: the messages
-- locks: nothing but the new rows of send_queue, by message; provider_outages, a row whose retry is due
with routed as materialized (
  select
    -- <route>
    case when case i.channel when 'email' then a.email_provider_ids
    else a.sms_provider_ids end is null then coalesce(i.provider_id, 0)
    else choose_provider(i.channel, i.provider_id, case i.channel when 'email' then a.email_provider_ids
      else a.sms_provider_ids end) end
    -- </route>
    as provider_id
  from (select $2::text as channel, $4::bigint as provider_id) i join accounts a on a.id = $1
)
insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, attempt_count, content_bytes, domain_id,
  provider_id, flow_id, price_month, price_millicents, price_units)
-- They are charged already.
select m.id, m.account_id, m.channel, m.class, now(), now(), m.attempt_count,
  coalesce((select octet_length(v.html) from template_versions v where v.id = m.content_version_id), 0)
  + coalesce((select octet_length(v.text) from template_versions v where v.id = m.content_version_id), 0),
  $3, r.provider_id, m.flow_id, current_month(), 0, 0
from routed r cross join unnest($5::bigint[]) as u (id)
cross join lateral (select * from messages m where m.id = u.id offset 0) m
where m.account_id = $1 and m.status = 'unknown' and m.sent_at is null
order by m.id
on conflict do nothing
returning provider_id as "providerId"
