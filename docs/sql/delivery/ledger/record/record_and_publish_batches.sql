-- Prepared as record_and_publish_batches_6560d561
-- Written by npm run sql: see docs/statements.md.
--
-- Records what became of batches that were given to providers, and publishes the events that follow from it.
-- This shape: messages whose events a consumer may want.
-- Others: record_batches.
-- Defined in src/delivery/ledger/record/record-function.ts, sent by recordOnce().
--
-- $1 bigint[]: the processes whose intents end
-- $2 bigint[]: and the numbers of these intents
-- $3 bigint[]: the messages, in their order
-- $4 smallint[]: the attempt of each
-- $5 text[]: its new state, or null
-- $6 text[]: the provider, or null
-- $7 text[]: the id that the provider gave it, or null
-- $8 text[]: the response of the provider, or null
-- $9 boolean: whether recipients may be contacts
-- $10 jsonb[]: what else there is to say about each; null for emails that were accepted and have left the queue
-- $11 jsonb: the blocks of the batches, with what each batch has used of its block; null if there are none
-- $12 json: the events of the messages or, if probably no consumer wants them, the brands

with recorded as materialized (
  select * from record_outcomes_32c3545b($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
), new_events as materialized (
  select gen_random_uuid() as id, e.*
  from recorded r cross
  join json_to_recordset($12) as e (message_id bigint, n int, account_id bigint, brand_id bigint, type text,
      occurred_at timestamptz, data json)
  where e.message_id <> all(r.silent)
    and (e.type <> 'email.sent' or e.message_id <> all(r.sent_before))
    and (exists (select 1 from (select brand_id from webhooks where enabled and e.type = any(events)) subscriptions
      where brand_id = e.brand_id))
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
select array[(select count(*) from webhook_matches)]::int[] as counts,
  array(select distinct brand_id from new_events) as wanted
from recorded
