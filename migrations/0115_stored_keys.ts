/**
 * The keys that hash opt-outs are stored, so that a new APP_SECRET still finds them. Until a process of this version
 * writes the row, all processes derive these keys from APP_SECRET.
 */
export const name = '0115_stored_keys';

export const up = `
create table stored_keys (
  purpose text primary key,
  keys_sealed text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table stored_keys is 'keys that outlive APP_SECRET; a process whose secret opens none of them does not start';
comment on column stored_keys.keys_sealed is 'JSON: [{id, key}], encrypted; the first is for new values, and all of them for look-ups';
`;

export const down = `
drop table stored_keys;
`;
