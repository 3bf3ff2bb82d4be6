/** Messages with a time to send, and messages that send-only keys have sent. */
export const name = '0151_scheduled';

export const up = `
alter table messages add column scheduled_at timestamptz, add column send_key_id bigint;
comment on column messages.scheduled_at is
  'when the client wants it sent; it stays when that time has passed; null: at once';
comment on column messages.send_key_id is 'the send-only key that sent it; null: anything else did';
comment on column send_queue.queued_at is
  'when its lifetime of 72 hours begins: when it was queued, or queued again, or is to be sent; in the future: it is scheduled';
comment on column idempotency_keys.created_at is
  'when the 7 days for which it is kept begin: when it was taken, or when its scheduled message is final at the latest, perhaps in the future';

alter table test_messages add column ends_at timestamptz;
create index test_messages_to_end on test_messages (ends_at) where ends_at is not null;
comment on column test_messages.ends_at is 'when a scheduled message of a test key gets its outcome; null: it has it';
`;

export const down = `
drop index test_messages_to_end;
alter table test_messages drop column ends_at;
comment on column idempotency_keys.created_at is null;
comment on column send_queue.queued_at is 'when its lifetime of 72 hours began: when it was queued, or queued again';
alter table messages drop column scheduled_at, drop column send_key_id;
`;
