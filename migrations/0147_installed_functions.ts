/**
 * Which functions of the database `migrate` has installed from the `.sql` files: see src/platform/db/sql/install.ts.
 * Rolling it back drops them, because older migrations may drop what they read.
 */
export const name = '0147_installed_functions';

export const up = `
create table installed_functions (
  name text primary key,
  last_set int not null,
  installed_at timestamptz not null default now()
);
comment on table installed_functions is
  'functions of the database that migrate has installed from .sql files; those that two newer versions have not needed are dropped';
comment on column installed_functions.name is 'the name in the file, and a hash of the text';
comment on column installed_functions.last_set is
  'the newest set of functions that it is part of; each version that installs other functions than the version before begins a set';
comment on column installed_functions.installed_at is 'when migrate created the function';
`;

export const down = `
do $$
declare installed text;
begin
  for installed in select name from installed_functions loop
    execute format('drop function if exists %I', installed);
  end loop;
end $$;
drop table installed_functions;
`;
