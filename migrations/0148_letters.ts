/**
 * Emails with files or to several recipients. A copy for each recipient is a message of its own; what the copies share
 * is a letter, named after its first message. It lives as long as the contents of its messages.
 */
export const name = '0148_letters';

export const up = `
alter table messages add column letter_id bigint, add column recipient_kind text;
comment on column messages.letter_id is 'the letter that it is a copy of, named after its first message; null: a message of its own';
comment on column messages.recipient_kind is 'to, cc or bcc: where its recipient stands in the letter; null without a letter';

create table letters (
  id bigint not null,
  account_id bigint not null,
  brand_id bigint not null,
  message_ids bigint[] not null,
  html text,
  text text,
  headers jsonb,
  reply_to text[],
  wire_bytes int not null,
  clear_when_ended boolean not null default false,
  created_at timestamptz not null default now(),
  constraint letters_pkey primary key (id)
) partition by range (id);
create index letters_to_clear on letters (id) where clear_when_ended;
comment on table letters is
  'what the copies of a letter share: its content and its other copies; read through messages.letter_id';
comment on column letters.id is 'the id of its first message';
comment on column letters.message_ids is 'all its copies, the first one first: at most 100';
comment on column letters.headers is 'given with the message, as in message_contents';
comment on column letters.reply_to is 'several addresses for replies; null: messages.reply_to says which';
comment on column letters.wire_bytes is 'upper bound of the size of the built message, with its files';
comment on column letters.clear_when_ended is
  'a recipient was erased while other copies still waited: the content is cleared when none waits';

create table letter_addresses (
  letter_id bigint not null,
  n smallint not null,
  brand_id bigint not null,
  kind text not null check (kind in ('to', 'cc')),
  address text not null,
  address_key text not null,
  constraint letter_addresses_pkey primary key (letter_id, n)
) partition by range (letter_id);
create index letter_addresses_key on letter_addresses (brand_id, address_key);
comment on table letter_addresses is
  'addresses that the header of a letter shows although it has no copy for them, as an SMTP client wrote them';
comment on column letter_addresses.letter_id is 'the letter whose header shows it';
comment on column letter_addresses.n is 'the position among them, from 1';
comment on column letter_addresses.kind is 'to or cc: the field that shows it';
comment on column letter_addresses.address is 'perhaps with a name';
comment on column letter_addresses.address_key is 'the address as messages.to_key has it, by which an erasure finds it';
`;

export const down = `
drop table letter_addresses;
drop table letters;
alter table messages drop column letter_id, drop column recipient_kind;
`;
