-- Prepared as record_plain_messages_3
-- Written by npm run sql: see docs/statements.md.
--
-- Records plain messages that a provider has accepted. Only one of its shapes publishes events.
-- This shape: messages whose events no consumer wants; if one does, nothing is recorded.
-- Others: record_and_publish_plain_messages.
-- Defined in src/delivery/ledger/record/record-plain.ts, sent by recordAsPlain().
--
-- $1 bigint[]: the processes whose intents end
-- $2 bigint[]: and the numbers of these intents
-- $3 bigint[]: the messages, in their order
-- $4 text[]: the response of the provider to each
-- $5 text[]: the id that the provider gave each, or null
-- $6 text: the provider
-- $7 boolean: whether recipients may be contacts
-- $8 json: the events of the messages or, if no consumer wants them, the brands

select record_plain_messages_v2($1, $2, $3, $4, $5, $6, $7) is not null as recorded
where not exists (select 1 from (select value::bigint as id from json_array_elements_text($8)) b
  where (exists (select 1
      from (select brand_id from webhooks where enabled and 'email.sent' = any(events)) subscriptions
      where brand_id = b.id)))
