-- Prepared as record_plain_messages_1
-- Written by npm run sql: see docs/statements.md.
--
-- Records plain messages that a provider has accepted, unless a consumer wants their events.
-- Defined in src/delivery/send/record/record-plain.ts, sent by createPlainRecording().
--
-- $1 bigint[]: the processes whose intents end
-- $2 bigint[]: and the numbers of these intents
-- $3 bigint[]: the messages, in their order
-- $4 text[]: the response of the provider to each
-- $5 text[]: the id that the provider gave each, or null
-- $6 text: the provider
-- $7 bigint[]: the brands

select record_plain_messages_v1($1, $2, $3, $4, $5, $6) as recorded
where not exists (select 1 from unnest($7::bigint[]) as b (id)
  where (exists (select 1 from (select brand_id from webhooks where enabled) subscriptions where brand_id = b.id)))
