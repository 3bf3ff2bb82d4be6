/** Contacts that an import creates stand for its claims to their addresses, so that it need not write these, too. */
export const name = '0108_import_claims';

export const up = `
alter table contacts add column import_id bigint;
comment on column contacts.import_id is
  'the import that created the contact with the addresses that it has; null: none did, or one of them has changed since';

alter table imports add column chunk_count integer not null default 0;
comment on column imports.chunk_count is 'chunks whose claims may be in contacts.import_id; older versions do not count theirs';

comment on table import_addresses is
  'addresses that a running import has seen and that are not those of a contact with its id, so that the first row of each address counts; removed when it has ended';

-- While an import runs, what it has claimed stays claimed, whatever becomes of the contact.
create function keep_import_claims() returns trigger language plpgsql as $$
begin
  insert into import_addresses (import_id, address_key)
  select i.id, k.key from imports i cross join unnest(array[old.email_key, old.phone]) as k (key)
  where i.id = old.import_id and i.status = 'processing' and k.key is not null order by k.key
  on conflict do nothing;
  if tg_op = 'DELETE' then return null; end if;
  new.import_id := null;
  return new;
end $$;
create trigger contacts_removed_claims after delete on contacts for each row
  when (old.import_id is not null) execute function keep_import_claims();
create trigger contacts_changed_claims before update of email_key, phone on contacts for each row
  when (old.import_id is not null
    and (old.email_key is distinct from new.email_key or old.phone is distinct from new.phone))
  execute function keep_import_claims();

-- A worker of an older version does not know these claims. It tries the chunk again until one of this version does it.
create function refuse_older_chunk() returns trigger language plpgsql as $$
begin
  raise exception 'a newer version imports this file' using errcode = '40001';
end $$;
create trigger imports_refuse_older_chunk before update of position on imports for each row
  when (old.chunk_count > 0 and new.chunk_count = old.chunk_count and new.position is distinct from old.position)
  execute function refuse_older_chunk();
`;

export const down = `
insert into import_addresses (import_id, address_key)
select c.import_id, k.key from contacts c join imports i on i.id = c.import_id and i.status = 'processing'
cross join unnest(array[c.email_key, c.phone]) as k (key) where k.key is not null
on conflict do nothing;
drop trigger imports_refuse_older_chunk on imports;
drop function refuse_older_chunk;
drop trigger contacts_changed_claims on contacts;
drop trigger contacts_removed_claims on contacts;
drop function keep_import_claims;
comment on table import_addresses is
  'addresses that a running import has seen, so that the first row of each address counts; removed when it has ended';
alter table imports drop column chunk_count;
alter table contacts drop column import_id;
`;
