-- Prepared as publish_events
-- Written by npm run sql: see docs/statements.md.
--
-- Writes the events that a consumer wants, and queues the work that follows from them.
-- Defined in src/platform/events/publish.ts, sent by createEventPublisher().
--
-- $1 json: the events, numbered in the order in which they are published

with new_events as materialized (
  select gen_random_uuid() as id, i.*
  from json_to_recordset($1) as i (n int, account_id bigint, brand_id bigint, type text, occurred_at timestamptz,
      data json)
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
select array[(select count(*) from webhook_matches)]::int[] as counts
