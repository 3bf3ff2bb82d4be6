-- Prepared as facts_of_flow_send_2
-- Written by npm run sql: see docs/statements.md.
--
-- Reads what the message of a step depends on, before it is written.
-- Defined in src/features/flows/run/send.ts, sent by readRecipient().
--
-- $1 bigint: the account
-- $2 bigint: the brand
-- $3 bigint: the contact
-- $4 bigint: the flow
-- $5 integer: the step
-- $6 text: the channel
-- $7 boolean: whether to ignore tags such as +news when comparing addresses

select nextval('messages_id_seq') as "messageId", k.id as "contactId", k.address, k.key, k.subscribed,
  (exists (
    select true from suppressions s
    where s.account_id = $1 and s.address_key = k.key and s.released_at is null
      and (s.expires_at is null or s.expires_at > now())) or $7 and exists (
    select true from suppressions s
    where s.account_id = $1 and s.untagged_key = address_without_tag(k.key) and s.released_at is null
      and (s.expires_at is null or s.expires_at > now()))) as suppressed,
  $6 = 'sms'
  and (not a.comped and a.kind = 'customer' and case
    when exists (select from prices p where p.tier = a.tier and p.kind = 'sms')
    then (select p.millicents from prices p
    where p.tier = a.tier and p.kind = 'sms' and p.country = phone_country(k.key))
    else 0 end is null) as "hasNoPrice",
  find_unapplied_opt_outs(b.id, $6) as unapplied, b.frequency_cap as cap,
  f.template_id as "templateId", v.id as "versionId",
  coalesce(octet_length(v.html), 0) + coalesce(octet_length(v.text), 0) as "versionBytes",
  v.from_name as "fromName", v.from_email as "fromEmail", v.reply_to as "replyTo"
from brands b join accounts a on a.id = b.account_id
left join lateral (
  select c.id, case $6 when 'email' then c.email else c.phone end as address,
    case $6 when 'email' then c.email_key else c.phone end as key,
    case $6 when 'email' then c.email_subscribed else c.phone_subscribed end as subscribed
  from contacts c where c.id = $3 and c.brand_id = b.id) k on true
left join flow_contents f on f.flow_id = $4 and f.step_id = $5
left join template_versions v on v.id = f.version_id and v.channel = $6
where b.id = $2
