-- Checks a batch of copies of letters against the limits, and writes the intent for those that may leave, as
-- intend_messages does. A copy that its provider cannot take gets the verdict provider_cannot_take, and no intent.
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
-- $10 text: the kind of the provider in the setting
-- locks: the row of the process, then the advisory locks of the accounts, which a pause waits for
with alive as (
  select id from processes where id = $1 for key share
), claimed as materialized (
  select q.* from unnest($4::bigint[], $5::int[]) as b (message_id, epoch)
  cross join lateral (select * from send_queue s where s.message_id = b.message_id offset 0) q
  where q.claim_epoch = b.epoch and q.owner = (select id from alive)
), locked as materialized (
  select * from accounts_to_send(array(select distinct account_id from claimed))
), letter as materialized (
  -- A letter and all its copies are in one range of ids, so these bounds leave out other partitions.
  select l.id as message_id, l.html, l.text, l.headers, l.wire_bytes, several.yes as several,
    l.opaque is not null as is_raw,
    jsonb_build_object('id', l.id, 'replyTo', l.reply_to, 'opaque', l.opaque, 'recipients', (
      select coalesce(jsonb_agg(jsonb_build_object('kind', r.kind, 'address', r.address) order by r.further, r.place), '[]')
      from (
        select s.recipient_kind as kind, s.to_address as address, false as further,
          coalesce(l.places[array_position(l.message_ids, s.id)], s.id) as place
        from messages s
        where s.id = any(l.message_ids) and s.id between ($6::bigint >> 32 << 32) and ($7::bigint | 4294967295)
          and s.recipient_kind <> 'bcc' and s.to_address is not null
        union all
        select a.kind, a.address, l.places is null, a.n from letter_addresses a where a.letter_id = l.id) r
    ), 'files', (
      select coalesce(jsonb_agg(jsonb_build_object('n', t.n, 'filename', t.filename, 'contentType', t.content_type,
        'contentId', t.content_id, 'disposition', t.disposition, 'size', t.size, 'sha256', encode(t.sha256, 'hex'),
        'storageKey', f.storage_key) order by t.n), '[]')
      from message_attachments t
      left join attachment_files f on f.account_id = t.account_id and f.sha256 = t.sha256 and t.stored
      where t.message_id = l.id)) as part
  from letters l cross join lateral (
    select cardinality(l.message_ids) > 1
      or exists (select from letter_addresses a where a.letter_id = l.id)
      or exists (
        select from messages b where b.id = l.id and b.id between ($6::bigint >> 32 << 32) and $7
          and b.recipient_kind = 'bcc') as yes) several
  where l.id between ($6::bigint >> 32 << 32) and $7 and l.id = any(array(
    select m.letter_id from messages m where m.id = any($4) and m.id between $6 and $7))
), provider as materialized (
  select p.id, least(
      -- <max_bytes>
      case p.kind when 'ses' then 30408704 when 'mailgun' then 26214400 when 'sendgrid' then 31457280
      when 'postmark' then 10485760 when 'resend' then 41943040 end
      -- </max_bytes>
      , (select s.max_bytes from provider_sizes s where s.provider_id = p.id)) as max_bytes,
    -- <cc_is_envelope>
    coalesce(case p.kind when 'sendgrid' then true when 'postmark' then true when 'resend' then true end, false)
    -- </cc_is_envelope>
    as cc_is_envelope,
    -- <takes_mime>
    coalesce(case p.kind when 'capture' then true when 'smtp' then true when 'ses' then true
      when 'mailgun' then true end, false)
    -- </takes_mime>
    as takes_mime
  from (
    select i.id, coalesce(r.kind, case when i.id = 0 then $10::text end) as kind
    from (select distinct provider_id as id from claimed) i left join providers r on r.id = i.id) p
), checked as (
  select m.id, m.account_id, m.brand_id, m.channel, m.class, m.created_at, m.to_address, m.from_address, m.reply_to,
    m.subject, m.tags, m.tracking, m.idempotency_key, m.segments, m.content_version_id, q.claim_epoch as epoch,
    q.attempt_count + 1 as attempt, q.queued_at, q.provider_id, q.domain_id, q.price_month is not null as priced,
    a.has_contacts, c.html, c.text, c.headers, c.part,
    coalesce(c.wire_bytes > p.max_bytes, false) or coalesce(c.several and p.cc_is_envelope, false)
      or coalesce(c.is_raw and not p.takes_mime, false) as unfit,
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
  join provider p on p.id = q.provider_id
  cross join lateral (
    select * from messages m where m.id = q.message_id and m.id between $6 and $7 offset 0) m
  join locked a on a.id = m.account_id
  left join letter c on c.message_id = m.letter_id
  -- A claim may have been recalled since the statement began: see cancel_transactional.
  where coalesce(a.recipients_changed_at > now() - interval '10 seconds', false) is false
    or holds_claim(q.message_id, q.owner, q.claim_epoch)
), fenced as (
  select checked.*, case when verdict = 'send' and unfit then 'provider_cannot_take' else verdict end as fate from checked
), intent as (
  insert into handovers (owner, seq, provider, message_ids, attempts, report_seconds)
  select $1, $2, $3, array_agg(id order by id), array_agg(attempt order by id), $9
  from fenced where fate = 'send' having count(*) > 0
)
select id as "messageId", attempt, epoch, uncertain, priced, fate as verdict, has_contacts as "hasContacts",
  account_id as "accountId", brand_id as "brandId", domain_id as "domainId", channel, class,
  provider_id as "providerId", queued_at as "queuedAt", created_at as "createdAt", to_address as "to",
  from_address as "from", reply_to as "replyTo", subject, html, text, headers, tags, tracking,
  idempotency_key as "idempotencyKey", segments, content_version_id as "contentVersionId", null as campaign,
  part as letter, null as unapplied
from fenced order by id
