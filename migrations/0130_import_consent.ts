/** Imports read what files say about subscriptions. */
export const name = '0130_import_consent';

export const up = `
alter table imports add column may_suppress boolean not null default false, add column examples jsonb,
  add column example_keys text[];
comment on column imports.may_suppress is
  'whether bounces and complaints of a file of contacts suppress addresses of the account; false for older versions';
comment on column imports.examples is 'a few values of each column of the file; null once they are old, or a contact of them is deleted';
comment on column imports.example_keys is 'the addresses of the rows that the examples are from';

-- A worker of an older version would subscribe who has opted out in the tool that the file is from. It tries again until
-- a worker of this version does it. An import that it has begun before stays as it is.
create function refuse_import_without_consent() returns trigger language plpgsql as $$
begin
  raise exception 'a newer version imports this file' using errcode = '40001';
end $$;
create trigger imports_refuse_without_consent before update of position on imports for each row
  when (new.position is distinct from old.position and not jsonb_exists(new.position, 'consent')
    and (old.position is null or jsonb_exists(old.position, 'consent')))
  execute function refuse_import_without_consent();
`;

export const down = `
update imports set status = 'canceled', finished_at = now() where status = 'processing' and jsonb_exists(position, 'consent');
drop trigger imports_refuse_without_consent on imports;
drop function refuse_import_without_consent;
alter table imports drop column example_keys, drop column examples, drop column may_suppress;
`;
