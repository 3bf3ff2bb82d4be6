-- Finds messages of a flow, oldest first, whose outcome is unknown and that may be handed over once more. Left out are
-- those that are queued for it already, those that were refused since, for example because their contact has
-- unsubscribed, and those from before a resume that gave up what waited: senders would refuse the latter two again. So are
-- those whose run housekeeping has deleted or emptied, because they are made from its event.
--
-- sent by: findUnknownOfFlow
-- $1 bigint: the flow
-- $2 bigint: how many
-- locks: nothing
with flow as materialized (
  select greatest(coalesce(f.canceled_to, 0), coalesce((
    select m.id - 1 from messages m where m.flow_id = f.id order by m.id limit 1), 0)) as before
  from flows f where f.id = $1
)
select m.id, m.channel, m.from_address as "from"
from (
  -- The index has unknown attempts only, of all accounts: there are few.
  select distinct message_id from message_events
  where type = 'unknown' and message_id > (select before from flow)) e
cross join lateral (
  select * from messages m where m.id = e.message_id offset 0) m
where m.flow_id = $1 and m.status = 'unknown' and m.sent_at is null and not m.test
  -- Limits that may have ended since do not count as a refusal.
  and coalesce(m.failure ->> 'code', 'expired') in ('expired', 'insufficient_funds', 'spend_cap_reached')
  and m.to_address is not null and (m.flow_run_id is null or m.contact_id is not null and exists (
    select from flow_runs r where r.id = m.flow_run_id and (r.record <> '{}' or r.ended_at is null)))
  and not exists (select from send_queue q where q.message_id = m.id)
order by m.id limit $2
