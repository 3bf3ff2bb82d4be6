/** The MCP endpoint: confirmations of calls that people must agree to. */
export const name = '0099_mcp';

export const up = `
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
drop table mcp_confirmations;
`;
