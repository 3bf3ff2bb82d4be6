-- Moves a page of a backlog to the first provider of the account's order that works. Messages that are not due yet stay,
-- and so do held ones: they are moved when they are due, if the provider still fails then. If the provider was removed,
-- all of its messages are moved. Otherwise, a message that had an attempt with an unknown outcome stays if its provider
-- would recognize it: another provider might send it twice. The status no longer shows this once a limit has held the
-- message, so its events are read. An SMS from a number of the provider stays as well, unless the provider was removed:
-- no other provider has the number.
--
-- sent by: rerouteBacklog
-- $1 text: the channel
-- $2 smallint: the class
-- $3 bigint: the account
-- $4 bigint: the provider
-- $5 text[]: the kinds of providers that recognize a message that they already have
-- locks: send_queue by due time, without waiting, and only rows that no sender has claimed, so this statement never waits
--   for another while others wait for it; then the row in held_backlogs
with removed as (
  -- Whether the provider was removed. Then the target is the provider in the settings if the account has no order.
  select $4::bigint <> 0 and not exists (
    select from providers where id = $4 and removed_at is null) as yes
), target as (
  -- The first working provider in the order of the account, other than the present one.
  select coalesce((
    select t.id from accounts a
    cross join lateral unnest(
      -- <providers>
      case $1 when 'email' then a.email_provider_ids else a.sms_provider_ids end
      -- </providers>
      ) with ordinality as t (id, n)
    where a.id = $3 and t.id <> $4
      and (t.id = 0 or exists (
        select from providers p where p.id = t.id and p.channel = $1 and p.removed_at is null))
      and not exists (select from provider_outages o where o.channel = $1 and o.provider_id = t.id)
    order by t.n limit 1
  ), case when yes then 0 end) as id from removed
), keyed as (
  select exists (select from providers where id = $4 and kind = any($5)) as yes
), page as (
  select message_id from send_queue q
  where owner is null and channel = $1 and class = $2 and account_id = $3 and provider_id = $4
    and ((due_at <= now() and not held) or (select yes from removed)) and (select id from target) is not null
    and (attempt_count = 0 or not (select yes from keyed) or (select yes from removed)
      or not exists (select from message_events e where e.message_id = q.message_id and e.type = 'unknown'))
    and ($1 <> 'sms' or (select yes from removed) or not exists (
      select from messages m join sms_senders s on s.brand_id = m.brand_id
      where m.id = message_id and s.removed_at is null and s.provider_id = $4))
  order by due_at, message_id limit
    -- <page>
    1000
    -- </page>
  for update skip locked
), moved as (
  update send_queue set provider_id = (select id from target)
  where message_id = any(array(select message_id from page)) returning held
), held_backlog as (
  insert into held_backlogs as h (account_id, channel, class, provider_id, recheck_at)
  select $3, $1, $2, id, now() from target where exists (select from moved where held)
  on conflict (account_id, channel, class, provider_id) do update set recheck_at = now()
)
select count(*)::int as moved, (select id from target) as "providerId" from moved
