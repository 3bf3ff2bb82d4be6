-- Moves a page of letters to the first provider of the account's order that works and can take them, as reroute_backlog
-- moves other messages. Letters that none of these can take are held; they are looked at again in five minutes, and stay
-- where they are if there is no other provider. Letters that a sender has claimed, and found that their provider cannot
-- take them, lose their claim; those that cannot move are held even if there is no other provider. A message that may have
-- been sent is not held, and waits as it is.
--
-- sent by: rerouteLetters
-- $1 smallint: the class
-- $2 bigint: the account
-- $3 bigint: the provider
-- $4 text[]: the kinds of providers that recognize a message that they already have
-- $5 text: the kind of the provider in the setting
-- $6 bigint[]: the claimed letters; null: those of the backlog that are due, or all if the provider was removed
-- $7 bigint: the process that has claimed them, or null
-- $8 text: the queue of the backlog
-- locks: send_queue, without waiting; messages that are held, without waiting; then the row in held_backlogs
with removed as (
  select $3::bigint <> 0 and not exists (
    select from providers where id = $3 and removed_at is null) as yes
), found as (
  select message_id from send_queue
  where $6::bigint[] is null and owner is null and channel = $8 and class = $1 and account_id = $2
    and provider_id = $3 and ((due_at <= now() and not held) or (select yes from removed))
  order by due_at, message_id limit
    -- <page>
    1000
    -- </page>
  for update skip locked
), able as materialized (
  -- The working providers in the order of the account, other than the present one. If it was removed, the provider in the
  -- setting is the last.
  select p.id, p.n, least(
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
    select o.id, o.n, coalesce(r.kind, case when o.id = 0 then $5::text end) as kind
    from accounts a
    cross join lateral (
      select id, n from unnest(a.email_provider_ids) with ordinality as u (id, n)
      union all
      select 0, 1000 from removed where yes) o (id, n)
    left join providers r on r.id = o.id
    where a.id = $2 and o.id <> $3 and (o.id = 0 or (r.channel = 'email' and r.removed_at is null))
      and (not exists (select from provider_outages x where x.channel = 'email' and x.provider_id = o.id)
        or (o.id = 0 and (select yes from removed)))) p
), keyed as (
  select exists (select from providers where id = $3 and kind = any($4)) as yes
), page as materialized (
  select q.message_id, q.queued_at, q.due_at, q.held, u.yes as uncertain,
    case when q.queued_at < now() -
      -- <lifetime>
      interval '72 hours'
      -- </lifetime>
      and (select yes from removed) then 0
    when u.yes and (select yes from keyed) and not (select yes from removed) then null
    else (
      select a.id from able a
      where coalesce(l.wire_bytes <= a.max_bytes, true) and not coalesce(l.several and a.cc_is_envelope, false)
        and not coalesce(l.is_raw and not a.takes_mime, false)
      order by a.n limit 1) end as target
  from send_queue q cross join lateral (
    select q.attempt_count > 0 and exists (
      select from message_events e where e.message_id = q.message_id and e.type = 'unknown') as yes) u
  left join lateral (
    select l.wire_bytes, l.opaque is not null as is_raw, cardinality(l.message_ids) > 1 or m.recipient_kind = 'bcc'
      or exists (select from letter_addresses a where a.letter_id = l.id) as several
    from messages m join letters l on l.id = m.letter_id where m.id = q.message_id) l on true
  where q.message_id = any(case when $6::bigint[] is null then array(select message_id from found) else $6 end)
    and q.owner is not distinct from $7
  for update of q skip locked
), moved as (
  update send_queue q set provider_id = p.target, owner = null
  from page p
  where q.message_id = any(array(select message_id from page where target is not null)) and q.message_id = p.message_id
  returning q.provider_id, q.held, q.channel
), held_backlog as (
  insert into held_backlogs as h (account_id, channel, class, provider_id, recheck_at)
  select distinct $2, channel, $1, provider_id, now() from moved where held
  on conflict (account_id, channel, class, provider_id) do update set recheck_at = now()
), waiting as materialized (
  select message_id, uncertain from page
  where target is null and due_at <= now() and ($6::bigint[] is not null
    or exists (select from able) and not uncertain)
), marked as materialized (
  select id from hold_messages((
    select jsonb_object_agg(message_id,
      -- <hold>
      jsonb_build_object('hold', jsonb_build_object('reason', 'provider_cannot_take', 'until', null))
      -- </hold>
      )
    from waiting where not uncertain)) as h (id)
), postponed as (
  update send_queue q set owner = null,
    due_at = least(now() + case when q.message_id = any(array(select id from marked)) or w.uncertain
      then interval '5 minutes' else interval '5 seconds' end, q.queued_at + interval '1 second' +
      -- <lifetime>
      interval '72 hours'
      -- </lifetime>
      )
  from waiting w
  where q.message_id = any(array(select message_id from waiting)) and q.message_id = w.message_id
)
select count(*)::int as moved, coalesce(array_agg(distinct provider_id), '{}') as "providerIds" from moved
