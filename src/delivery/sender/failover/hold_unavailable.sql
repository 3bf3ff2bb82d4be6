-- Holds a page of due messages of a backlog whose provider cannot be used, unless they are `unknown`. Skips locked
-- messages: a recorder that has locked a message wants its queue row next, which this statement has locked.
--
-- sent by: holdUnavailable
-- $1 text: the queue
-- $2 smallint: the class
-- $3 bigint: the account
-- $4 bigint: the provider
-- locks: send_queue by due time, then messages by id, both without waiting
with page as (
  select message_id from send_queue
  where owner is null and channel = $1 and class = $2 and account_id = $3 and provider_id = $4
    and due_at <= now() and queued_at >= now() -
      -- <lifetime>
      interval '72 hours'
      -- </lifetime>
    and (attempt_count = 0
      or not exists (select from messages m where m.id = message_id and m.status = 'unknown'))
  order by due_at, message_id limit
    -- <page>
    1000
    -- </page>
  for update skip locked
), marked as materialized (
  select id from hold_messages((
    select jsonb_object_agg(message_id,
      -- <hold>
      jsonb_build_object('hold', jsonb_build_object('reason', 'provider_unavailable', 'until', null))
      -- </hold>
      )
    from page)) as h (id)
)
update send_queue q
set due_at = least(now() + interval '5 minutes', q.queued_at + interval '1 second' +
  -- <lifetime>
  interval '72 hours'
  -- </lifetime>
  )
where q.message_id = any(array(select id from marked))
