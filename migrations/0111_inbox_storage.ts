/** What mail stores: shared files, the part that strangers fill, and what was evicted to make room. */
export const name = '0111_inbox_storage';

/** The order in which files are locked: two statements that delete mail of the same files never wait for each other. */
const noteRemoved = (
  mailOrder: string,
  attachmentOrder: string,
) => `create or replace function note_removed_mail() returns trigger language plpgsql as $$
begin
  insert into inbox_removed_files (key, account_id, size)
    select raw_key, account_id, raw_size from gone where raw_key is not null ${mailOrder}
    on conflict do nothing;
  return null;
end $$;
create or replace function note_removed_attachments() returns trigger language plpgsql as $$
begin
  insert into inbox_removed_files (key, account_id, size)
    select storage_key, account_id, size from gone where storage_key is not null ${attachmentOrder}
    on conflict do nothing;
  return null;
end $$;
`;

export const up = `
alter table conversation_messages add column stored_bytes bigint;
comment on column conversation_messages.stored_bytes is
  'bytes of its raw mail and its attachments, also of those that other messages share. Null: an earlier version wrote it';
comment on column conversation_messages.recipient is
  'inbound: the address of RCPT TO; outbound: the key of the address that it was written to';

alter table inbox_storage
  add column evicted_count bigint not null default 0,
  add column evicted_bytes bigint not null default 0,
  add column last_evicted_at timestamptz,
  add column notice smallint not null default 0;
comment on column inbox_storage.evicted_count is 'mails that were deleted from quarantine to make room for others';
comment on column inbox_storage.notice is
  'what the owners were last notified of: 1: all mail nears the quota, 2: even without quarantine; 0: the episode is over';
alter table inboxes
  add column evicted_count bigint not null default 0,
  add column last_evicted_at timestamptz;

create table inbox_shared_files (
  key text primary key,
  account_id bigint not null references accounts on delete cascade,
  uses int not null,
  created_at timestamptz not null default now()
);
comment on table inbox_shared_files is
  'blobs that several mails of an account use: a message to several of its inboxes, and its attachments';
comment on column inbox_shared_files.uses is 'the blob is removed with the last one';
create index inbox_shared_files_of_account on inbox_shared_files (account_id);
create index inbox_shared_files_age on inbox_shared_files (created_at);

create function keep_shared_inbox_file() returns trigger language plpgsql as $$
declare
  remaining int;
begin
  update inbox_shared_files set uses = uses - 1 where key = new.key returning uses into remaining;
  if not found then return new; end if;
  if remaining > 0 then return null; end if;
  delete from inbox_shared_files where key = new.key;
  return new;
end $$;
comment on function keep_shared_inbox_file is
  'each mail that goes adds its files to inbox_removed_files once. A file that other mails use stays';
create trigger keep_shared_inbox_file before insert on inbox_removed_files
  for each row execute function keep_shared_inbox_file();

${noteRemoved('order by raw_key', 'order by storage_key')}`;

export const down = `
${noteRemoved('', '')}
drop trigger keep_shared_inbox_file on inbox_removed_files;
drop function keep_shared_inbox_file;
drop table inbox_shared_files;
alter table inboxes drop column evicted_count, drop column last_evicted_at;
alter table inbox_storage drop column evicted_count, drop column evicted_bytes, drop column last_evicted_at,
  drop column notice;
alter table conversation_messages drop column stored_bytes;
`;
