-- Checks batches of a block and writes an intent for each batch. Values that are the same for all messages are read and
-- decided once, and returned with the first message. A claim is valid only while the block still has its owner and epoch.
--
-- sent by: intendBatches
-- $1 bigint: the process
-- $2 bigint[]: the intent number of each message
-- $3 text: the provider
-- $4 bigint[]: the messages
-- $5 bigint: the campaign
-- $6 bigint: the lowest id of the messages
-- $7 bigint: the highest id of the messages
-- $8 boolean: whether to ignore tags such as +news when comparing addresses
-- $9 integer: seconds to wait for a report if the process dies
-- $10 integer: the number of the block
-- $11 integer: the epoch of its claim
-- locks: the row of the process, then the advisory locks of the account and of the campaign, which a pause waits for
with alive as (
  select id from processes where id = $1 for key share
), block as materialized (
  select b.*, now() as queued_at from campaign_blocks b
  where b.campaign_id = $5 and b.n = $10 and b.claim_epoch = $11 and b.owner = (select id from alive)
    and b.closed_at is null
), locked as materialized (
  select * from accounts_to_send(array(select account_id from block)) limit 1
), campaign as materialized (
  -- Accounts are locked first.
  select * from campaigns_to_send(array(select campaign_id from block where (select count(*) from locked) > 0)) limit 1
), claimed as materialized (
  select q.*
    -- <decided>
    , (q.queued_at < now() - interval '72 hours') as limit_expired,
      (a.sending_paused_at is not null) as limit_account_paused, ((q.domain_id is not null
          and (select d.status from domains d where d.id = q.domain_id) is distinct
        from 'verified')) as limit_domain_unverified
    -- </decided>
  from block q cross join locked a limit 1
), versions as materialized (
  -- The content of a campaign may have changed since its recipients were written. The fields that most contents use are
  -- columns of the result: building JSON for every message costs more.
  select v.id, 'first_name' = any(v.paths) as first_name, 'last_name' = any(v.paths) as last_name,
    'email' = any(v.paths) as email, 'phone' = any(v.paths) as phone, 'country_code' = any(v.paths) as country_code,
    'source' = any(v.paths) as source,
    array(
      select p from unnest(v.paths) as p
      where p not in ('first_name', 'last_name', 'email', 'phone', 'country_code', 'source')) as further
  from template_versions v where v.id = any(array(select unnest(version_ids) from campaign))
), checked as materialized (
  select i.seq, m.id, m.attempt_count + 1 as attempt, m.to_address, m.subject, m.tags, m.idempotency_key, m.segments,
    m.variant, m.contact_id, v.id as version_id, m.brand_id, m.created_at, m.from_address, m.reply_to, m.tracking,
    case
      -- A claim that the database forgot in a crash may be made again, with the same epoch, of a part of the block.
      when m.status <> 'queued' or m.campaign_id is distinct from q.campaign_id
        or m.id not between q.first_id and q.last_id then 'gone'
      -- The campaign is read after its lock, and may name content that is newer than the statement.
      when (p.status = 'active' and v.id is not null) is not true then 'campaign_stopped'
      when m.contact_id is null then 'contact_deleted'
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
      and ((q.price_list -> m.id::text -> 0 = 'null'::jsonb) or coalesce((q.price_list -> m.id::text ->> 0)::bigint, 0) = 0
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
      when q.limit_expired then 'expired'
      when q.limit_account_paused then 'account_paused'
      when q.limit_domain_unverified then 'domain_unverified'
      when ((exists (
          select true from suppressions s
          where s.account_id = m.account_id and s.address_key = m.to_key and s.released_at is null
            and (s.expires_at is null or s.expires_at > now())) or settings.plus_addresses and exists (
          select true from suppressions s
          where s.account_id = m.account_id and s.untagged_key = address_without_tag(m.to_key) and s.released_at is null
            and (s.expires_at is null or s.expires_at > now())))
        or (coalesce(a.recipients_changed_at > now() - interval '10 seconds', false)
          and is_suppressed(m.account_id, m.to_key, settings.plus_addresses))) then 'suppressed'
      else 'send' end
      -- </verdict>
      end as verdict,
    case when v.first_name then left(k.first_name, 2048) end as first_name,
    case when v.last_name then left(k.last_name, 2048) end as last_name,
    case when v.email then left(k.email, 2048) end as email,
    case when v.phone then left(k.phone, 2048) end as phone,
    case when v.country_code then left(k.country_code, 2048) end as country_code,
    case when v.source then left(k.source, 2048) end as source,
    -- <contact_values>
    case when cardinality(v.further) > 0 then (
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
        from unnest(v.further) as p (path) offset 0) w) n
    where n.value is not null) end
    -- </contact_values>
    as further
  from claimed q cross join locked a left join campaign p on true
  cross join (select $8::boolean as plus_addresses) settings
  cross join unnest($4::bigint[], $2::bigint[]) as i (message_id, seq)
  cross join lateral (
    select * from messages m where m.id = i.message_id and m.id between $6 and $7 offset 0) m
  left join lateral (select * from contacts k where k.id = m.contact_id offset 0) k on true
  left join versions v on v.id = p.version_ids[coalesce(m.variant, 0) + 1]
), intent as (
  insert into handovers (owner, seq, provider, message_ids, attempts, report_seconds, campaign_id, block_n, block_epoch)
  select $1, seq, $3, array_agg(id order by id), array_agg(attempt order by id), $9, $5, $10, $11
  from checked where verdict = 'send' group by seq
), shared as materialized (
  select q.account_id, q.domain_id, q.channel, q.provider_id, q.queued_at, q.price_month is not null as priced,
    a.has_contacts, p.name, f.*, (
      -- After the locks: it sees what is committed then.
      select find_unapplied_opt_outs(c.brand_id, c.channel) from campaigns c where c.id = p.id) as unapplied
  from claimed q cross join locked a left join campaign p on true
  left join (
    -- One statement has written these columns of all messages of a block, from the row of the campaign. A message that is
    -- gone may belong to another campaign.
    select brand_id, created_at, from_address, reply_to, tracking from checked order by verdict = 'gone', id limit 1) f on true
)
select c.id, c.seq, c.attempt, c.verdict, c.to_address, c.subject, c.tags, c.idempotency_key, c.segments, c.variant,
  c.contact_id, c.version_id, c.first_name, c.last_name, c.email, c.phone, c.country_code, c.source, c.further, s.*
from (select *, row_number() over (order by id) as row from checked) c left join shared s on c.row = 1
order by c.id
