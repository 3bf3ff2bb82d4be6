/** Limits how much imports store about failed rows. */
export const name = '0066_import_errors';

export const up = `
alter table imports
  add column error_bytes bigint not null default 0,
  add column left_out_count bigint not null default 0,
  add column left_out_from bigint;
comment on column imports.error_bytes is
  'approximate size of its rows in import_errors; counts in the quota of the account until they are removed by their age';
comment on column imports.left_out_count is 'failed rows that are not in import_errors, because those before them took all the bytes';
comment on column imports.left_out_from is 'the number of the first of these rows';
create index imports_error_bytes on imports (account_id) where error_bytes > 0;
`;

export const down = `
drop index imports_error_bytes;
alter table imports drop column error_bytes, drop column left_out_count, drop column left_out_from;
`;
