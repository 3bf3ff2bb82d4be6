-- Prepared as facts_of_flow_sends
-- Written by npm run sql: see docs/statements.md.
--
-- Reads what the messages of steps depend on, before they are written.
-- Defined in src/features/flows/run/recipients.ts, sent by readRecipients().
--
-- $1 bigint[]: the accounts
-- $2 bigint[]: the brands
-- $3 bigint[]: the contacts
-- $4 bigint[]: the flows
-- $5 integer[]: the steps
-- $6 text[]: the channels
-- $7 boolean: whether to ignore tags such as +news when comparing addresses

with given as (
  select $1::bigint[] as accounts, $2::bigint[] as brands, $3::bigint[] as contacts, $4::bigint[] as flows,
    $5::int[] as steps, $6::text[] as channels offset 0
), asked as materialized (
  select r.* from given g,
    unnest(g.accounts, g.brands, g.contacts, g.flows, g.steps, g.channels)
  with ordinality as r (account_id, brand_id, contact_id, flow_id, step_id, channel, n)
), firsts as (
  select min(n) as n, find_unapplied_opt_outs(brand_id, channel) as unapplied from asked
  group by brand_id, channel
)
select nextval('messages_id_seq') as "messageId", k.id as "contactId", k.address, k.key, k.subscribed,
  coalesce(((
      select true from suppressions s
      where s.account_id = r.account_id and s.address_key = k.key and s.released_at is null
        and (s.expires_at is null or s.expires_at > now()) limit 1) or $7 and r.channel = 'email' and (
      select true from suppressions s
      where s.account_id = r.account_id and s.untagged_key = address_without_tag(k.key) and s.released_at is null
        and (s.expires_at is null or s.expires_at > now()) limit 1)), false) as suppressed,
  r.channel = 'sms'
  and (not a.comped and a.kind = 'customer' and case
    when exists (select from prices p where p.tier = a.tier and p.kind = 'sms')
    then (select p.millicents from prices p
    where p.tier = a.tier and p.kind = 'sms' and p.country = phone_country(k.key))
    else 0 end is null) as "hasNoPrice",
  u.unapplied, b.frequency_cap as cap, f.template_id as "templateId", v.id as "versionId",
  coalesce(octet_length(v.html), 0) + coalesce(octet_length(v.text), 0) as "versionBytes",
  v.from_name as "fromName", v.from_email as "fromEmail", v.reply_to as "replyTo"
from asked r join brands b on b.id = r.brand_id join accounts a on a.id = b.account_id
left join firsts u on u.n = r.n
left join lateral (
  select c.id, case r.channel when 'email' then c.email else c.phone end as address,
    case r.channel when 'email' then c.email_key else c.phone end as key,
    case r.channel when 'email' then c.email_subscribed else c.phone_subscribed end as subscribed
  from contacts c where c.id = r.contact_id and c.brand_id = r.brand_id) k on true
left join flow_contents f on f.flow_id = r.flow_id and f.step_id = r.step_id
left join template_versions v on v.id = f.version_id and v.channel = r.channel
order by r.n
