/**
 * API keys that can only send. They are not in api_keys, where a process that does not know them would take them for keys
 * that may do anything; the ids of both tables are of one sequence, since callers are named by the id of their key alone.
 */
export const name = '0153_send_keys';

export const up = `
create table send_keys (
  id bigint primary key default nextval('api_keys_id_seq'),
  account_id bigint not null references accounts (id) on delete cascade,
  brand_id bigint not null references brands (id) on delete cascade,
  name text not null default '',
  display_prefix text not null,
  digest bytea not null unique,
  rate_limit_per_second int check (rate_limit_per_second >= 0),
  last_used_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default now()
);
create index send_keys_account on send_keys (account_id, id desc);
create index send_keys_brand on send_keys (brand_id);
comment on table send_keys is 'API keys that can only send messages and read those that they sent';
comment on column send_keys.id is 'no id of api_keys';
comment on column send_keys.display_prefix is 'the beginning of the key, by which people recognize it';
comment on column send_keys.digest is 'SHA-256 of the key, which is not stored';
comment on column send_keys.rate_limit_per_second is 'null: the setting; 0: no limit';
comment on column send_keys.last_used_at is 'null: never; written some seconds late';
comment on column send_keys.revoked_at is 'from then on it is refused';

alter table attachment_uploads add column send_key_id bigint;
comment on column attachment_uploads.send_key_id is
  'the send-only key that uploaded it, which alone of such keys may use it; null: anything else did';
`;

export const down = `
alter table attachment_uploads drop column send_key_id;
drop table send_keys;
`;
