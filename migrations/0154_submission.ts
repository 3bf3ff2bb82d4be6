/** Mail that programs submit by SMTP: bodies that pass unchanged, addresses in the order of their header, and threads. */
export const name = '0154_submission';

export const up = `
alter table letters add column opaque jsonb, add column places smallint[];
comment on column letters.opaque is
  'the fields of a MIME body that is sent as the client wrote it, such as {"fields": [["Content-Type", "…"]]}; the body is file 0. Null: the letter is built';
comment on column letters.places is
  'where the copies of message_ids stand among all addresses of the header, counted from 1; null: first';
comment on column letter_addresses.n is
  'the position among them, from 1; among all addresses of the header if the letter has places';
comment on column message_attachments.n is 'the position in the letter, from 1; 0: the body of an opaque letter';

create table message_aliases (
  brand_id bigint not null references brands (id) on delete cascade,
  digest bytea not null check (length(digest) = 16),
  message_id bigint not null,
  created_at timestamptz not null default now(),
  primary key (brand_id, digest)
);
create index message_aliases_age on message_aliases using brin (created_at);
comment on table message_aliases is
  'the Message-IDs that clients gave their mail: sent mail has one of its own, and replies may name either';
comment on column message_aliases.digest is 'the first 16 bytes of the SHA-256 of the Message-ID';
comment on column message_aliases.message_id is 'the message, or the first one of its letter';

comment on column processes.role is 'api, worker, sender, mail or submission';
`;

export const down = `
comment on column processes.role is 'api, worker, sender or mail';
drop table message_aliases;
comment on column message_attachments.n is 'the position in the letter, from 1';
comment on column letter_addresses.n is 'the position among them, from 1';
alter table letters drop column opaque, drop column places;
`;
