/** What becomes of a mail that an inbox receives again: it is counted on the message that is kept. */
export const name = '0109_repeated_mail';

export const up = `
alter table conversation_messages
  add column repeated_count integer not null default 0,
  add column last_repeated_at timestamptz;
comment on column conversation_messages.repeated_count is
  'how often the mail was received again, and only counted; 0 if it is outbound';
comment on column conversation_messages.last_repeated_at is 'when it was last received again';

alter table inbox_digests add column conversation_message_id bigint;
comment on table inbox_digests is
  'what arrived in the last 30 days, so that a mail delivered twice arrives once: a hash of what the mail says about itself and of its body, and a byte that says how well it is authenticated';
comment on column inbox_digests.conversation_message_id is
  'the message that is kept; once it is deleted, the mail may arrive again. Null: an older version wrote the row, with another hash';
`;

export const down = `
delete from inbox_digests where conversation_message_id is not null;
alter table inbox_digests drop column conversation_message_id;
comment on table inbox_digests is
  'what arrived in the last 30 days: a hash of Message-ID, From, Date and body, so that a mail delivered twice arrives once';
alter table conversation_messages drop column last_repeated_at, drop column repeated_count;
`;
