-- Checks a batch of transactional messages against the limits, and writes the intent for those that may leave. What it
-- does not return has lost its claim. The row of the process is the fence: a process that was declared dead writes no
-- intent.
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
-- locks: the row of the process, then the advisory locks of the accounts, which a pause waits for
with alive as (
  select id from processes where id = $1 for key share
), claimed as (
  select q.* from unnest($4::bigint[], $5::int[]) as b (message_id, epoch)
  -- "offset 0" makes this a look-up by key for each message, never a scan of all rows of the owner.
  cross join lateral (select * from send_queue s where s.message_id = b.message_id offset 0) q
  where q.claim_epoch = b.epoch and q.owner = (select id from alive)
), locked as materialized (
  select * from accounts_to_send(array(select distinct account_id from claimed))
), checked as (
  select m.id, m.account_id, m.brand_id, m.channel, m.class, m.created_at, m.to_address, m.from_address, m.reply_to,
    m.subject, m.tags, m.tracking, m.idempotency_key, m.segments, m.content_version_id, q.claim_epoch as epoch,
    q.attempt_count + 1 as attempt, q.queued_at, q.provider_id, q.domain_id, q.price_month is not null as priced,
    a.has_contacts, c.html, c.text, c.headers,
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
    as verdict,
    -- An earlier attempt has no known outcome. Looks up events of retried messages only.
    q.attempt_count > 0 and exists (
      select 1 from message_events e
      where e.message_id = m.id and e.message_id between $6 and $7 and e.type = 'unknown' offset 0) as uncertain
  from claimed q cross join (select $8::boolean as plus_addresses) settings
  -- The bounds of all ids let PostgreSQL leave out partitions before it opens them.
  cross join lateral (
    select * from messages m where m.id = q.message_id and m.id between $6 and $7 offset 0) m
  join locked a on a.id = m.account_id
  left join lateral (
    select * from message_contents c
    where c.message_id = q.message_id and c.message_id between $6 and $7 offset 0) c on true
  -- A claim may have been recalled since the statement began: see cancel_transactional.
  where coalesce(a.recipients_changed_at > now() - interval '10 seconds', false) is false
    or holds_claim(q.message_id, q.owner, q.claim_epoch)
), intent as (
  insert into handovers (owner, seq, provider, message_ids, attempts, report_seconds)
  select $1, $2, $3, array_agg(id order by id), array_agg(attempt order by id), $9
  from checked where verdict = 'send' having count(*) > 0
)
select id as "messageId", attempt, epoch, uncertain, priced, verdict, has_contacts as "hasContacts",
  account_id as "accountId", brand_id as "brandId", domain_id as "domainId", channel, class,
  provider_id as "providerId", queued_at as "queuedAt", created_at as "createdAt", to_address as "to",
  from_address as "from", reply_to as "replyTo", subject, html, text, headers, tags, tracking,
  idempotency_key as "idempotencyKey", segments, content_version_id as "contentVersionId", null as campaign,
  null as unapplied
from checked order by id
