/** Values of headers of webhook steps, sealed. Steps have only their masks. */
export const name = '0123_flow_header_secrets';

/** SQL: whether a step has the type that processes of older versions run, and headers of its own. */
const plainStep = `'$.** ? (@.type == "webhook" && exists(@.headers.*))'`;

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

-- Workers of older versions would send masks as they are. They do not know the type of steps with masks, so such steps
-- wait for a worker that does. A process that stores masks without that type is refused.
alter table flow_versions add constraint flow_versions_masks
  check (not jsonb_path_exists(steps, '$.** ? (@.type == "webhook").headers.* ? (@ starts with "••••")')) not valid;

-- What processes of older versions have written. An hourly task seals it.
create index flows_plain_headers on flows (id) where jsonb_path_exists(steps, ${plainStep});
create index flow_versions_plain_headers on flow_versions (flow_id) where jsonb_path_exists(steps, ${plainStep});
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
alter table flow_versions drop constraint flow_versions_masks;
drop table flow_header_secrets;
`;
