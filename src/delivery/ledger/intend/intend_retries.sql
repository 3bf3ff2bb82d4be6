-- Checks a batch of retries of campaigns against their campaigns, their recipients and the limits, and writes the intent
-- for those that may leave. First attempts are in blocks: see intend_in_block.
--
-- sent by: intendMessages
-- $1 bigint: the process
-- $2 bigint: the number of the intent
-- $3 text: the provider
-- $4 bigint[]: the messages
-- $5 integer[]: the epochs of their claims
-- $6 bigint: the lowest id of the messages
-- $7 bigint: the highest id of the messages
-- $8 boolean: whether to ignore tags such as +news when comparing addresses
-- $9 integer: seconds to wait for a report if the process dies
-- locks: the row of the process, then the advisory locks of the accounts and of the campaigns, which a pause waits for
with alive as (
  select id from processes where id = $1 for key share
), claimed as materialized (
  select q.* from unnest($4::bigint[], $5::int[]) as b (message_id, epoch)
  cross join lateral (select * from send_queue s where s.message_id = b.message_id offset 0) q
  where q.claim_epoch = b.epoch and q.owner = (select id from alive)
), locked as materialized (
  select * from accounts_to_send(array(select distinct account_id from claimed))
), campaign as materialized (
  -- Accounts are locked first.
  select * from campaigns_to_send(array(
    select distinct campaign_id from claimed where campaign_id is not null and (select count(*) from locked) > 0))
), checked as materialized (
  select m.id, m.account_id, m.brand_id, m.channel, m.class, m.created_at, m.to_address, m.from_address, m.reply_to,
    m.subject, m.tags, m.tracking, m.idempotency_key, m.segments, m.content_version_id, m.campaign_id, m.contact_id,
    m.variant, q.claim_epoch as epoch, m.attempt_count + 1 as attempt, q.queued_at, q.provider_id, q.domain_id,
    q.price_month is not null as priced, a.has_contacts, c.html, c.text, c.headers, p.name as campaign_name,
    v.id as version_id, u.uncertain,
    case
      -- Once the campaign has ended, only messages without a known outcome are sent, because a client has requested a
      -- resend. Others may have been canceled, which this statement does not see.
      when q.campaign_id is not null and (p.status = 'active' or p.phase = 'done' and u.uncertain) is not true
        then 'campaign_stopped'
      -- The campaign is read after its lock, and may name content that is newer than the statement.
      when p.version_ids[coalesce(m.variant, 0) + 1] is not null and v.id is null then 'campaign_stopped'
      when q.campaign_id is not null and m.contact_id is null then 'contact_deleted'
      -- <recipient>
        when m.contact_id is not null and k.id is null then 'contact_deleted'
      -- Whether the contact is subscribed says nothing about an address that it had when the message was written.
        when m.to_address is null or k.id is not null
        and m.to_key is distinct from case m.channel when 'email' then k.email_key else k.phone end then 'no_address'
        when k.id is not null and not (case m.channel when 'email' then k.email_subscribed else k.phone_subscribed end
        -- The statement may have begun before an opt-out was committed; see recipient-fence.ts.
          and (a.recipients_changed_at is null or a.recipients_changed_at <= now() - interval '10 seconds'
            or is_subscribed(k.id, m.channel))) then 'unsubscribed'
      -- </recipient>
      -- <no_price>
      when m.channel = 'sms'
      and ((q.price_month is not null and q.price_millicents is null)
        or coalesce(case when q.price_month is not null and q.price_units = 0 then 1 else q.price_millicents end, 0) = 0
        and (not a.comped and a.kind = 'customer' and case
          when exists (select from prices p where p.tier = a.tier and p.kind = 'sms')
          then (select p.millicents from prices p
          where p.tier = a.tier and p.kind = 'sms' and p.country = phone_country(m.to_key))
          else 0 end is null))
      then 'no_price'
      -- </no_price>
      else
      -- <verdict>
      case when m.status not in ('queued', 'held', 'unknown') then 'gone'
      when (q.queued_at < now() - interval '72 hours' and m.hold ->> 'reason' = 'spend_cap') then 'spend_cap_end'
      when (q.queued_at < now() - interval '72 hours' and m.hold ->> 'reason' = 'wallet') then 'wallet_end'
      when q.queued_at < now() - interval '72 hours' then 'expired'
      when q.domain_id is not null and (select d.id from domains d where d.id = q.domain_id) is null then 'domain_deleted'
      when a.sending_paused_at is not null then 'account_paused'
      when (select d.status from domains d where d.id = q.domain_id) <> 'verified' then 'domain_unverified'
      when ((exists (
          select true from suppressions s
          where s.account_id = m.account_id and s.address_key = m.to_key and s.released_at is null
            and (s.expires_at is null or s.expires_at > now())) or settings.plus_addresses and exists (
          select true from suppressions s
          where s.account_id = m.account_id and s.untagged_key = address_without_tag(m.to_key) and s.released_at is null
            and (s.expires_at is null or s.expires_at > now())))
        or (coalesce(a.recipients_changed_at > now() - interval '10 seconds', false)
          and is_suppressed(m.account_id, m.to_key, settings.plus_addresses))) then 'suppressed'
      when c.message_id is null and (m.class = 0 or m.content_version_id is null) then 'content_missing'
      else 'send' end
      -- </verdict>
      end as verdict,
    -- <contact_values>
    case when cardinality(v.paths) > 0 then (
    select jsonb_object_agg(n.path, n.value) from (
      select w.path, case jsonb_typeof(w.value)
        when 'string' then to_jsonb(left(w.value #>> '{}', 2048))
        when 'null' then null
        when 'object' then case when length(w.value::text) <= 2048 then w.value end
        when 'array' then case when length(w.value::text) <= 2048 then w.value end
        else w.value end as value
      from (select p.path, case when p.path = 'id' then to_jsonb(k.id)
          when p.path = 'first_name' then to_jsonb(k.first_name)
          when p.path = 'last_name' then to_jsonb(k.last_name)
          when p.path = 'email' then to_jsonb(k.email)
          when p.path = 'phone' then to_jsonb(k.phone)
          when p.path = 'country_code' then to_jsonb(k.country_code)
          when p.path = 'source' then to_jsonb(k.source)
          when p.path = 'created_at' then to_jsonb(k.created_at)
          when starts_with(p.path, 'data.') then k.data #> string_to_array(substr(p.path, 6), '.') end as value
        from unnest(v.paths) as p (path) offset 0) w) n
    where n.value is not null) end
    -- </contact_values>
    as contact
  from claimed q cross join (select $8::boolean as plus_addresses) settings
  cross join lateral (
    select * from messages m where m.id = q.message_id and m.id between $6 and $7 offset 0) m
  join locked a on a.id = m.account_id
  left join campaign p on p.id = q.campaign_id
  cross join lateral (
    select q.attempt_count > 0 and exists (
      select 1 from message_events e
      where e.message_id = m.id and e.message_id between $6 and $7 and e.type = 'unknown' offset 0) as uncertain
    offset 0) u
  left join lateral (select * from contacts k where k.id = m.contact_id offset 0) k on true
  -- The content of a campaign may have changed since its recipients were written.
  left join lateral (
    select * from template_versions v
    where v.id = coalesce(p.version_ids[coalesce(m.variant, 0) + 1], m.content_version_id) offset 0) v on true
  left join lateral (
    select * from message_contents c
    where c.message_id = q.message_id and c.message_id between $6 and $7 offset 0) c on true
), unapplied as materialized (
  -- Once for each brand and channel, and after the locks: it sees what is committed then.
  select u.brand_id, u.channel, find_unapplied_opt_outs(u.brand_id, u.channel) as hashes
  from (select distinct brand_id, channel from checked where campaign_id is not null offset 0) u
), intent as (
  insert into handovers (owner, seq, provider, message_ids, attempts, report_seconds)
  select $1, $2, $3, array_agg(id order by id), array_agg(attempt order by id), $9
  from checked where verdict = 'send' having count(*) > 0
)
select id as "messageId", attempt, epoch, uncertain, priced, verdict, has_contacts as "hasContacts",
  account_id as "accountId", brand_id as "brandId", domain_id as "domainId", channel, class,
  provider_id as "providerId", queued_at as "queuedAt", created_at as "createdAt", to_address as "to",
  from_address as "from", reply_to as "replyTo", subject, html, text, headers, tags, tracking,
  idempotency_key as "idempotencyKey", segments, coalesce(version_id, content_version_id) as "contentVersionId",
  case when campaign_id is not null then jsonb_build_object('id', campaign_id, 'name', coalesce(campaign_name, ''),
    'variant', coalesce(variant, 0), 'contactId', contact_id, 'contact', coalesce(contact, '{}'::jsonb)) end as campaign,
  (select hashes from unapplied u
    where u.brand_id = checked.brand_id and u.channel = checked.channel and checked.campaign_id is not null) as unapplied
from checked order by id
