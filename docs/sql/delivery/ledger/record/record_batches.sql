-- Prepared as record_batches_61f62512
-- Written by npm run sql: see docs/statements.md.
--
-- Records what became of batches that were given to providers, and publishes the events that follow from it.
-- This shape: emails that were accepted, whose events no consumer wants; if one does, nothing is recorded.
-- Others: record_and_publish_batches.
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

select record_outcomes_32c3545b($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) is not null as recorded
where not exists (select 1 from (select value::bigint as id from json_array_elements_text($12)) b
  where (exists (select 1
      from (select brand_id from webhooks where enabled and 'email.sent' = any(events)) subscriptions
      where brand_id = b.id)))
