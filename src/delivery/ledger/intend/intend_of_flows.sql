-- Checks a batch of messages of flows against their flows, their recipients and the limits, and writes the intent for
-- those that may leave. Messages of paused flows are made to wait for the resume, which waits for this statement and so
-- finds them. They return their reservations, unless an attempt may have sent them, and reserve again when they are
-- claimed after the resume.
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
-- locks: the row of the process, then the advisory locks of the accounts and of the flows, which a pause waits for; of
--   messages that wait for a resume, then the rows in send_queue, account_months and allowance_buckets, each in the
--   order of their keys
with alive as (
  select id from processes where id = $1 for key share
), claimed as materialized (
  select q.* from unnest($4::bigint[], $5::int[]) as b (message_id, epoch)
  cross join lateral (select * from send_queue s where s.message_id = b.message_id offset 0) q
  where q.claim_epoch = b.epoch and q.owner = (select id from alive)
), locked as materialized (
  select * from accounts_to_send(array(select distinct account_id from claimed))
), flow as materialized (
  -- Accounts are locked first. Rows written by earlier versions do not name their flow.
  select s.*, (select w.unknown = 'resend' from flows w where w.id = s.id) as resends
  from flows_to_send(array(
    select distinct coalesce(q.flow_id, (
      select m.flow_id from messages m where m.id = q.message_id and m.id between $6 and $7))
    from claimed q where (select count(*) from locked) > 0)) s
), checked as materialized (
  select m.id, m.account_id, m.brand_id, m.channel, m.class, m.created_at, m.to_address, m.from_address, m.reply_to,
    m.subject, m.tags, m.tracking, m.idempotency_key, m.segments, m.content_version_id, m.flow_id, m.contact_id,
    q.claim_epoch as epoch, q.attempt_count + 1 as attempt, q.queued_at, q.provider_id, q.domain_id,
    q.price_month is not null as priced, a.has_contacts, c.html, c.text, c.headers, f.resends,
    case
      -- The message waits while its flow is paused, and is canceled once the flow is archived or was resumed without its
      -- overdue messages.
      when f.status = 'archived' or m.id <= f.canceled_to then 'flow_ended'
      when f.status = 'paused' then 'flow_stopped'
      when m.flow_run_id is not null and m.contact_id is null then 'contact_deleted'
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
    q.attempt_count > 0 and exists (
      select 1 from message_events e
      where e.message_id = m.id and e.message_id between $6 and $7 and e.type = 'unknown' offset 0) as uncertain,
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
    as contact, (
      select jsonb_build_object(
        -- The mail that the message answers, even if it has been deleted.
        'answers', case when r.event ? 'mail' then coalesce((
          select jsonb_build_object('id', c.internet_id, 'references', c.reference_ids)
          from conversation_messages c
          where c.id = (r.event -> 'mail' -> 'conversation_message_id')::bigint and c.brand_id = r.brand_id),
          '{"id": null, "references": []}') end,
        'event',
        -- <event>
        case when length(r.event::text) <= 65536
        then r.event - 'id' - 'name' - 'mail' || jsonb_build_object('event', r.event -> 'name') end
        -- </event>
        )
      from flow_runs r where r.id = m.flow_run_id) as run
  from claimed q cross join (select $8::boolean as plus_addresses) settings
  cross join lateral (
    select * from messages m where m.id = q.message_id and m.id between $6 and $7 offset 0) m
  join locked a on a.id = m.account_id
  left join flow f on f.id = m.flow_id
  left join lateral (select * from contacts k where k.id = m.contact_id offset 0) k on true
  left join lateral (select * from template_versions v where v.id = m.content_version_id offset 0) v on true
  left join lateral (
    select * from message_contents c
    where c.message_id = q.message_id and c.message_id between $6 and $7 offset 0) c on true
), unapplied as materialized (
  -- Once for each brand and channel, and after the locks: it sees what is committed then.
  select u.brand_id, u.channel, find_unapplied_opt_outs(u.brand_id, u.channel) as hashes
  from (select distinct brand_id, channel from checked where flow_id is not null offset 0) u
), intent as (
  insert into handovers (owner, seq, provider, message_ids, attempts, report_seconds)
  select $1, $2, $3, array_agg(id order by id), array_agg(attempt order by id), $9
  from checked where verdict = 'send' having count(*) > 0
), stopped as materialized (
  select s.*, c.flow_id, c.uncertain
  from (select id, epoch, flow_id, uncertain from checked where verdict = 'flow_stopped' order by id) c
  cross join lateral (
    select message_id, account_id, channel, reserved_bucket, price_month, price_millicents, price_units
    from send_queue q where q.message_id = c.id and q.claim_epoch = c.epoch and q.owner is not distinct from $1
    for update) s
)
-- <give_back>
, months_returned as materialized (
  select account_id, price_month as month,
    coalesce(sum(price_units) filter (where channel = 'email'), 0) as emails,
    coalesce(sum(price_units) filter (where channel = 'email' and price_millicents = 0), 0) as free,
    coalesce(sum(price_units) filter (where channel = 'sms'), 0) as texts,
    coalesce(sum(price_millicents), 0) as millicents
  from (select * from stopped where not uncertain) stopped
  where price_month is not null and (price_units > 0 or price_millicents > 0)
  group by account_id, price_month
), months_locked as materialized (
  select s.account_id, s.month, s.posted_at from account_months s join (
    select account_id, month from months_returned union select account_id, current_month() from months_returned
  ) r using (account_id, month) order by s.account_id, s.month for update of s
), months_given_back as (
  insert into account_months as s (account_id, month, email_units, free_units, sms_units, spent_millicents)
  select account_id, case when l.posted_at is null then month else current_month() end,
    -sum(r.emails), -sum(r.free), -sum(r.texts), -sum(r.millicents)
  from months_returned r left join months_locked l using (account_id, month) group by 1, 2 order by 1, 2
  on conflict (account_id, month) do update set email_units = s.email_units + excluded.email_units,
    free_units = s.free_units + excluded.free_units, sms_units = s.sms_units + excluded.sms_units,
    spent_millicents = s.spent_millicents + excluded.spent_millicents returning 1
), allowance_unused as materialized (
  select account_id, reserved_bucket as bucket, count(*)::int as count
  from (select * from stopped where not uncertain) stopped
  where reserved_bucket is not null group by account_id, reserved_bucket
), allowance_given_back as (
  insert into allowance_buckets as b (account_id, bucket, used)
  select account_id, bucket, 0 from allowance_unused where (select count(*) from months_given_back) >= 0
  order by account_id, bucket
  on conflict (account_id, bucket) do update set used = greatest(0, b.used - (
      select u.count from allowance_unused u where u.account_id = b.account_id and u.bucket = b.bucket))
  returning 1
)
-- </give_back>
, held as (
  -- Also sets the flow of rows written by earlier versions.
  update send_queue q set due_at = 'infinity', flow_id = s.flow_id,
    reserved_bucket = case when s.uncertain then q.reserved_bucket end,
    price_month = case when s.uncertain then q.price_month end,
    price_millicents = case when s.uncertain then q.price_millicents end
  from stopped s
  where q.message_id = any(array(select message_id from stopped)) and q.message_id = s.message_id
)
select id as "messageId", attempt, epoch, uncertain, resends, priced, verdict, has_contacts as "hasContacts",
  account_id as "accountId", brand_id as "brandId", domain_id as "domainId", channel, class,
  provider_id as "providerId", queued_at as "queuedAt", created_at as "createdAt", to_address as "to",
  from_address as "from", reply_to as "replyTo", subject, html, text, headers, tags, tracking,
  idempotency_key as "idempotencyKey", segments, content_version_id as "contentVersionId", null as campaign,
  jsonb_build_object('id', flow_id, 'contactId', contact_id, 'contact', coalesce(contact, '{}'::jsonb),
    'event', run -> 'event', 'answers', run -> 'answers') as flow,
  (select hashes from unapplied u
    where u.brand_id = checked.brand_id and u.channel = checked.channel and checked.flow_id is not null) as unapplied
from checked order by id
