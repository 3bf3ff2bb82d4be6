/** Used tokens of provider callbacks, so that each is used only once. */
export const name = '0019_callback_tokens';

export const up = `
create table callback_tokens (
  provider_id bigint not null,
  token_digest bytea not null,
  body_digest bytea not null,
  used_at timestamptz not null default now(),
  primary key (provider_id, token_digest)
);
create index callback_tokens_age on callback_tokens (used_at);
comment on table callback_tokens is
  'tokens that a provider signs without the body, with the SHA-256 of the body they came with: only that body may come again';
`;

export const down = `
drop table callback_tokens;
`;
