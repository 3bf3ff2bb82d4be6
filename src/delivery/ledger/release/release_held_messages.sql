-- Makes held messages of a backlog due, beginning with those that were accepted first, and notes in the row of the backlog
-- how far the release has come. Skips locked messages and leaves them for a later check: a recorder that has locked a
-- message wants its queue row next, which this statement has locked.
--
-- sent by: releasePage
-- $1 bigint: the account
-- $2 text: the channel
-- $3 smallint: the class
-- $4 bigint: the provider
-- $5 timestamptz: when the last message released before was due, or null
-- $6 bigint: the maximum number of messages
-- locks: the row in held_backlogs, which the caller has locked; send_queue by due time, messages by id, both without
--   waiting
with page as (
  select message_id, due_at from send_queue
  where owner is null and account_id = $1 and channel = $2 and class = $3 and provider_id = $4
    and due_at >= coalesce($5::timestamptz, now()) and due_at > now() and held
  order by due_at, message_id limit $6 for update skip locked
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
  update send_queue q set due_at = q.queued_at, held = false
  where q.message_id = any(array(select id from lockable)) returning 1
), counted as (
  select (select count(*)::int from page) as found, (select count(*)::int from released) as released,
    (select max(due_at) from page) as until
), noted as (
  update held_backlogs set recheck_at = clock_timestamp(), release_count = release_count - counted.released,
    released_until = coalesce(counted.until, released_until)
  from counted where account_id = $1 and channel = $2 and class = $3 and provider_id = $4
)
select found, released from counted
