-- Makes due a page of the messages that the limit domain_unverified holds. Senders then claim them, and the limits decide
-- again. Skips messages that are locked: a recorder that has locked one wants its queue row next, which this statement
-- has locked.
--
-- sent by: releaseDomainPage
-- $1 bigint: the account
-- $2 bigint: the domain
-- $3 smallint[]: all classes
-- $4 text[]: the queues of emails
-- locks: send_queue by due time, then messages by id, both without waiting
with page as (
  select message_id from send_queue q
  where owner is null and channel = any($4::text[]) and class = any($3::smallint[]) and account_id = $1 and due_at > now()
    and domain_id = $2 and exists (
      select 1 from messages m
      where m.id = q.message_id and m.status = 'held' and m.hold ->> 'reason' = 'domain_unverified')
  order by due_at limit 2000 for update skip locked
), lockable as (
  select id from messages
  -- The span lets PostgreSQL search only the partitions of the page.
  where id = any(array(select message_id from page))
    and id between (select min(message_id) from page) and (select max(message_id) from page)
  order by id for no key update skip locked
), marked as (
  update messages m set status = 'queued', hold = null, updated_at = now(),
    last_hold = m.last_hold || jsonb_build_object('released_at', now())
  where m.id = any(array(select id from lockable))
    and m.id between (select min(message_id) from page) and (select max(message_id) from page) and m.status = 'held'
), released as (
  update send_queue q set due_at = q.queued_at
  where q.message_id = any(array(select id from lockable)) returning channel, class, provider_id
)
select channel as queue, class, provider_id as "providerId", count(*)::int as count from released
group by channel, class, provider_id
