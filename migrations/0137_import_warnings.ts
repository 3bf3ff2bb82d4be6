/** Cells that imports leave out, and the encodings of their files. The trigger of 0130 keeps older workers away. */
export const name = '0137_import_warnings';

export const up = `
alter table imports
  add column warning_count bigint not null default 0,
  add column warning_bytes bigint not null default 0,
  add column warnings_left_out bigint not null default 0,
  add column encoding jsonb;
comment on column imports.warning_count is 'rows that were imported without some of their cells';
comment on column imports.warning_bytes is
  'like error_bytes, of the rows in import_errors that were imported without some of their cells';
comment on column imports.warnings_left_out is 'of warning_count: rows that are not in import_errors';
comment on column imports.encoding is
  'name and origin of the encoding of the file, and values that are read in it until they are removed by their age';
create index imports_warning_bytes on imports (account_id) where warning_bytes > 0;
create index imports_examples on imports (created_at) where examples is not null or encoding ? 'samples';

alter table import_errors add column warnings jsonb;
comment on column import_errors.warnings is
  'column, code and message of each cell without which the row was imported; null if the row failed';
`;

export const down = `
delete from import_errors where warnings is not null;
alter table import_errors drop column warnings;
drop index imports_warning_bytes, imports_examples;
alter table imports drop column warning_count, drop column warning_bytes, drop column warnings_left_out,
  drop column encoding;
`;
