/** Limits for flows: attempts of webhook steps, entries of list members, and contacts noted for segments. */
export const name = '0055_flow_bounds';

/**
 * SQL: a trigger function that notes contacts for active flows with a segment. `from` reads `changed` and names flows
 * `f`.
 */
const noteSql = (fn: string, contact: string, from: string, where: string, after = '') => `
create or replace function ${fn}() returns trigger language plpgsql as $$
begin
  if exists (select 1 from flows f where f.status = 'active' and f.segment_id is not null) then
    insert into flow_candidates (flow_id, contact_id)
    select f.id, ${contact} from ${from}
    where f.status = 'active' and f.segment_id is not null${where}${after};
  end if;
  return null;
end $$;`;

const byContact = [
  'note_flow_candidates',
  'c.id',
  'changed c join flows f on f.brand_id = c.brand_id',
] as const;
const byList = [
  'note_flow_candidates_by_list',
  'm.contact_id',
  'changed m join lists l on l.id = m.list_id join flows f on f.brand_id = l.brand_id',
] as const;

const approved = ` and f.approval_state in ('not_required', 'approved')`;
const MAX_NOTED = 50_000;

/**
 * SQL: the trigger function for new list members.
 * @param cause SQL: the cause of the entry of a member `m`
 */
const enterSql = (cause: string, conflict: string) => `
create or replace function enter_flows_by_list() returns trigger language plpgsql as $$
declare
  depth integer := coalesce(nullif(current_setting('carillon.chain_depth', true), ''), '0')::integer;
begin
  if depth <= 5 and exists (
    select 1 from flows f
    where f.status = 'active' and f.contact_list_id is not null and f.contact_list_id in (select list_id from changed)
  ) then
    insert into flow_entries (account_id, brand_id, flow_id, contact_id, cause, chain_depth)
    select f.account_id, f.brand_id, f.id, m.contact_id, ${cause}, depth
    from changed m join flows f on f.contact_list_id = m.list_id
    where f.status = 'active' and f.contact_list_id is not null and f.approval_state in ('not_required', 'approved')
    order by f.id, m.contact_id${conflict};
  end if;
  return null;
end $$;`;

export const up = `
alter table flow_runs add column call_failures smallint not null default 0, add column held_at timestamptz;
comment on column flow_runs.call_failures is
  'attempts of the present webhook step that have failed: a pause or a restart does not begin them again';
comment on column flow_runs.held_at is 'since when it is held by a pause; null: it is not, or was before this was kept';
create index flow_runs_version on flow_runs (version_id) where state = 'active';
comment on index flow_runs_version is 'finds whether runs under way follow a version';

${enterSql(`'l' || (extract(epoch from m.created_at) * 1000000)::bigint`, ' on conflict do nothing')}
alter table flow_fills add column waits_for text[], drop column up_to;
comment on column flow_fills.waits_for is
  'transactions that may have added members without seeing the flow active; null: not looked at yet';
comment on column flow_entries.cause is
  'e<event>, t<test event>, l<when the membership began, in microseconds>, s<number of the match>, m<number of the request>';

${noteSql(...byContact, approved, ` limit ${MAX_NOTED}`)}
${noteSql(...byList, approved, ` limit ${MAX_NOTED}`)}
`;

export const down = `
${noteSql(...byList, '')}
${noteSql(...byContact, '')}
comment on column flow_entries.cause is
  'e<event>, t<test event>, l<number of the membership>, s<number of the match>, m<number of the request>';
alter table flow_fills drop column waits_for, add column up_to bigint not null default 9223372036854775807;
alter table flow_fills alter column up_to drop default;
${enterSql(`'l' || nextval('flow_causes')`, '')}
drop index flow_runs_version;
alter table flow_runs drop column held_at, drop column call_failures;
`;
