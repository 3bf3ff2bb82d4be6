/** Token buckets of API keys and users, which several API processes share. */
export const name = '0014_rate_limit_buckets';

export const up = `
create unlogged table rate_limit_buckets (
  caller text primary key,
  tokens double precision not null,
  granted double precision not null,
  filled_at timestamptz not null
) with (fillfactor = 50);
comment on table rate_limit_buckets is
  'the limit of each busy caller, from which API processes take blocks of tokens. Unlogged: a crash of the database fills all buckets';
comment on column rate_limit_buckets.granted is 'tokens of the last block; the statement that takes a block returns it';
`;

export const down = `
drop table rate_limit_buckets;
`;
