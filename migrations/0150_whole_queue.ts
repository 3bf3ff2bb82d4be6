/**
 * Letters wait in a channel of the queue of their own, so that no process takes one without knowing about its files and
 * its other recipients.
 */
export const name = '0150_whole_queue';

export const up = `
alter table send_queue add column file_bytes int not null default 0;
comment on column send_queue.channel is
  'as in messages, but email_whole for the copies of letters, which processes that do not know these must not take';
comment on column send_queue.file_bytes is 'bytes of its files, not folded: a sender bounds how many it has at once';

create table provider_sizes (
  provider_id bigint primary key,
  max_bytes bigint not null,
  learned_at timestamptz not null default now()
);
comment on table provider_sizes is 'the largest message that the mail server of a provider says it takes (SIZE of RFC 1870)';
comment on column provider_sizes.provider_id is 'as in send_queue; 0: the provider of the setting';
comment on column provider_sizes.max_bytes is 'learned by senders when they connect';
comment on column provider_sizes.learned_at is 'when a server last named another size';
`;

export const down = `
drop table provider_sizes;
alter table send_queue drop column file_bytes;
comment on column send_queue.channel is null;
`;
