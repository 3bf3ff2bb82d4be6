-- Prepared as record_facts_2b04802a
-- Written by npm run sql: see docs/statements.md.
--
-- Writes what reports of providers change in messages that `lock_reported_messages` has locked, and all that follows.
-- Defined in src/delivery/ledger/facts/facts.ts, sent by writeChanges().
--
-- $1 json: the messages that change, with their new columns
-- $2 json: the rows of message_events
-- $3 bigint[]: the messages whose wait in the queue ends
-- $4 bigint[]: those of them that were not sent, and get back what they have reserved
-- $5 boolean: whether recipients may be contacts
-- $6 bigint[]: the messages of flows that change, or null
-- $7 boolean: whether a message is sent, fails, or is charged from now on or no longer
-- $8 boolean: whether addresses may be suppressed
-- $9 json: the events to publish

with recorded as materialized (
  select record_facts_a1b45ec3($1, $2, $3, $4, $5, $6, $7, $8) as yes
), new_events as materialized (
  select gen_random_uuid() as id, e.* from recorded cross
  join json_to_recordset($9) as e (n int, account_id bigint, brand_id bigint, type text, occurred_at timestamptz,
      data json)
  where yes
    and (exists (select 1 from (select brand_id from webhooks where enabled) subscriptions where brand_id = e.brand_id))
),
  webhook_matches as materialized (
  select i.n, i.id as event_id, i.type, w.id as webhook_id, w.generation
  from new_events i join webhooks w
    on w.enabled and i.type = any(w.events) and w.brand_id = i.brand_id
  union all
  select i.n, i.id, i.type, w.id, w.generation
  from new_events i join webhooks w
    on w.enabled and i.type = any(w.events) and i.brand_id is null and w.account_id = i.account_id
), new_webhook_deliveries as (
  insert into webhook_deliveries (webhook_id, event_id, type, generation)
  select webhook_id, event_id, type, generation from webhook_matches order by n, webhook_id
  returning id, created_at, webhook_id, event_id, generation
), queued_webhook_deliveries as (
  insert into webhook_queue (delivery_id, created_at, webhook_id, event_id, generation)
  select id, created_at, webhook_id, event_id, generation from new_webhook_deliveries
), written_events as (
  insert into events (id, account_id, brand_id, type, occurred_at, data)
  select id, account_id, brand_id, type, occurred_at, data from new_events
  -- "is true" makes this one look-up in a hash table for each event, never a join.
  where (id in (select event_id from webhook_matches)) is true
)
select array[(select count(*) from webhook_matches)]::int[] as counts from recorded
