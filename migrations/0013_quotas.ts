/** Upload quotas. Messages of test keys, whose number is limited and whose contents are kept for a day. */
export const name = '0013_quotas';

export const up = `
create index uploads_account on uploads (account_id, id);

create table test_messages (
  message_id bigint primary key,
  account_id bigint not null,
  created_at timestamptz not null default now()
);
create index test_messages_account on test_messages (account_id, created_at);
create index test_messages_age on test_messages using brin (created_at);
comment on table test_messages is
  'messages of test keys of about the last day; a row goes together with the content of its message';
`;

export const down = `
drop table test_messages;
drop index uploads_account;
`;
