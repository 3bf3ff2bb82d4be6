/** The id of this installation. */
export const name = '0042_installation';

export const up = `
create table installation (
  id uuid not null default gen_random_uuid(),
  single boolean primary key default true check (single)
);
comment on table installation is
  'one row. The file "installation" in the folder of blobs has the same id; in any other folder, housekeeping leaves all files';
insert into installation default values;
`;

export const down = `
drop table installation;
`;
