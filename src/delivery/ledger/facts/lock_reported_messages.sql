-- Locks messages and reads the state that reports about them are judged by, with the open hand-overs of messages that are
-- not recorded as sent. Most are, so hand-overs are seldom read.
--
-- sent by: lockMessages
-- $1 bigint[]: the messages
-- $2 bigint: the first message: the bounds let PostgreSQL leave out partitions before it opens them
-- $3 bigint: the last message
-- locks: messages by id, as recording does
with locked as materialized (
  select * from messages m where m.id = any($1) and m.id between $2 and $3 order by m.id for no key update
), intended as (
  select i.message_id, h.provider, i.attempt
  from locked l cross join lateral
    -- <intents>
    (
    select h.* from (
      select q.owner from send_queue q where q.message_id = l.id
      union all
      select b.owner from (
        select owner, first_id from campaign_blocks
        where campaign_id = l.campaign_id and last_id >= l.id order by campaign_id, last_id limit 1) b
      where b.first_id <= l.id) o join handovers h on h.owner = o.owner
    where l.id = any(h.message_ids))
    -- </intents>
    h
  cross join unnest(h.message_ids, h.attempts) as i (message_id, attempt)
  where l.sent_at is null and i.message_id = l.id
)
select m.id as "messageId", m.account_id as "accountId", m.brand_id as "brandId", m.contact_id as "contactId",
  m.channel, m.class, m.status, m.test,
  m.created_at as "createdAt", m.to_address as "to", m.subject, m.idempotency_key as "idempotencyKey", m.tags,
  m.attempt_count as "attemptCount", m.provider, m.provider_message_id as "providerMessageId",
  m.sent_attempt as "sentAttempt", m.sent_at as "sentAt", m.delivered_at as "deliveredAt", m.response, m.failure,
  m.bounce, null as "bouncedAt", i.provider as "intendedProvider", i.attempt as "intendedAttempt"
from locked m
left join lateral (
  select * from intended where message_id = m.id order by attempt desc limit 1) i on true
