/** The MCP endpoint: the log of its calls, and confirmations of calls that people must agree to. */
export const name = '0099_mcp';

export const up = `
create table mcp_calls (
  id bigint generated always as identity primary key,
  created_at timestamptz not null default now(),
  grant_id bigint not null,
  user_id bigint not null,
  client_id text not null,
  client_name text not null,
  account_id bigint references accounts on delete cascade,
  brand_id bigint,
  tool text not null,
  operation text,
  resource_id text,
  outcome text,
  request_id text not null
);
comment on table mcp_calls is 'no contents: neither arguments nor results. Rows outlive the grant, the user and the brand';
comment on column mcp_calls.account_id is 'null: the call was refused before an account was chosen, or needs none';
comment on column mcp_calls.operation is 'the operation id of the route';
comment on column mcp_calls.resource_id is 'what the call names, or else what it created';
comment on column mcp_calls.outcome is 'ok, asked (the user), or an error code; null: begun, and the outcome is unknown';
create index mcp_calls_account on mcp_calls (account_id, id desc);
create index mcp_calls_age on mcp_calls (created_at);

create table mcp_confirmations (
  digest bytea primary key,
  grant_id bigint not null,
  tool text not null,
  arguments_digest bytea not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
comment on table mcp_confirmations is 'rows live for minutes, so they may outlive their grant';
comment on column mcp_confirmations.digest is 'SHA-256 of the code that the assistant repeats';
create index mcp_confirmations_expired on mcp_confirmations (expires_at);
`;

export const down = `
drop table mcp_confirmations, mcp_calls;
`;
