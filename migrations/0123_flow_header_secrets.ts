/** Values of headers of webhook steps, sealed. Steps have only their masks. */
export const name = '0123_flow_header_secrets';

/**
 * SQL: whether a step has the type that processes of older versions run, and headers of its own. The first condition is
 * fast, and also finds JSON in a body or in data that looks like a step.
 */
const hasPlain = `jsonb_path_exists(steps, '$.** ? (@.type == "webhook" && exists(@.headers.*))')
  and flow_steps_match(steps, '$ ? (@.type == "webhook" && exists(@.headers.*))')`;

export const up = `
create table flow_header_secrets (
  brand_id bigint not null references brands on delete cascade,
  tag text not null,
  account_id bigint not null,
  origin text not null,
  value_sealed text not null,
  used_at timestamptz not null default now(),
  primary key (brand_id, tag)
);
comment on table flow_header_secrets is
  'the values of headers of webhook steps. Steps of flows, of their versions and of drafts have masks that end with the tag';
comment on column flow_header_secrets.origin is 'the value is sent to no other origin; empty: the step had no usable URL';
comment on column flow_header_secrets.used_at is
  'when a request last wrote the value or its mask, to the hour; rows that no step names are deleted a day later';
create index flow_header_secrets_used on flow_header_secrets (used_at);

create function flow_steps_match(steps jsonb, condition jsonpath) returns boolean
language sql immutable strict parallel safe as $$
  with recursive step as (
    select value from jsonb_path_query(steps, '$[*]') value
    union all
    select inner_step.value from step cross join lateral (
      select jsonb_path_query(step.value, '$.yes[*]') as value
      union all select jsonb_path_query(step.value, '$.no[*]')
      union all select jsonb_path_query(step.value, '$.branches[*].steps[*]')) inner_step
  )
  select exists (select from step where jsonb_path_exists(step.value, condition))
$$;
comment on function flow_steps_match is 'whether a step, at any level, meets a condition: not JSON inside steps, such as a body';

-- What processes of older versions have written. An hourly task seals it.
create index flows_plain_headers on flows (id) where ${hasPlain};
create index flow_versions_plain_headers on flow_versions (flow_id) where ${hasPlain};
alter table drafts add column sealed_revision bigint;
comment on column drafts.sealed_revision is
  'the revision whose headers of webhook steps are sealed; older versions raise the revision and leave this as it is';
create index drafts_plain_headers on drafts (id)
  where flow_id is not null and sealed_revision is distinct from revision;
`;

export const down = `
drop index drafts_plain_headers;
alter table drafts drop column sealed_revision;
drop index flow_versions_plain_headers, flows_plain_headers;
drop function flow_steps_match;
drop table flow_header_secrets;
`;
