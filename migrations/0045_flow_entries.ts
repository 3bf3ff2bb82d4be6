/** How contacts enter automation flows: by tracked events, lists and segments. */
export const name = '0045_flow_entries';

export const up = `
create function lock_flow_brands(space integer, locks integer[], brand_ids bigint[]) returns boolean
language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock_shared(space, l.lock)
  from (select u.lock from unnest(locks) with ordinality as u (lock, place) order by u.place) l;
  return exists (select 1 from flow_brands where brand_id = any(brand_ids));
end $$;
comment on function lock_flow_brands is
  'takes the shared locks of brands, and then returns whether one of them ever activated a flow. The look has a snapshot of its own, so that it is newer than the locks, also inside a larger statement';

create sequence flow_causes as bigint;
comment on sequence flow_causes is 'numbers entries that lists and segments cause';

create function enter_flows_by_list() returns trigger language plpgsql as $$
declare
  depth integer := coalesce(nullif(current_setting('carillon.chain_depth', true), ''), '0')::integer;
begin
  if depth <= 5 and exists (
    select 1 from flows f
    where f.status = 'active' and f.contact_list_id is not null and f.contact_list_id in (select list_id from changed)
  ) then
    insert into flow_entries (account_id, brand_id, flow_id, contact_id, cause, chain_depth)
    select f.account_id, f.brand_id, f.id, m.contact_id, 'l' || nextval('flow_causes'), depth
    from changed m join flows f on f.contact_list_id = m.list_id
    where f.status = 'active' and f.contact_list_id is not null and f.approval_state in ('not_required', 'approved')
    order by f.id, m.contact_id;
  end if;
  return null;
end $$;
comment on function enter_flows_by_list is
  'whoever adds members to the list of a flow lets them enter it: requests, imports, steps of flows. carillon.chain_depth is set by steps of flows';
create trigger list_members_enter after insert on list_members referencing new table as changed
  for each statement execute function enter_flows_by_list();

create table flow_fills (
  flow_id bigint primary key references flows on delete cascade,
  list_id bigint not null,
  up_to bigint not null,
  cursor bigint not null default 0,
  created_at timestamptz not null default now()
);
comment on table flow_fills is
  'flows that let the present members of their list enter, in pages by contact id. The row is deleted with the last page';

create table flow_audiences (
  flow_id bigint primary key references flows on delete cascade,
  opened_at timestamptz,
  enters_existing boolean not null default false,
  comparing_since timestamptz,
  remembers boolean not null default false,
  cursor bigint not null default 0,
  compared_at timestamptz,
  seen_at timestamptz
);
comment on table flow_audiences is 'how far flow-audience/<flow> has compared the contacts with the segment of the flow';
comment on column flow_audiences.opened_at is
  'when the flow last began to take contacts: those who are created later enter';
comment on column flow_audiences.enters_existing is
  'a client wants those who match in the first comparison to enter; else they are remembered';
comment on column flow_audiences.comparing_since is 'when the comparison of all contacts under way began; null: none is';
comment on column flow_audiences.remembers is
  'it is the first since the flow began to take contacts: flows.audience_seen_at was null when it began';
comment on column flow_audiences.cursor is 'contacts up to this id were compared in it';
comment on column flow_audiences.compared_at is 'when the last comparison of all contacts began that has ended';
comment on column flow_audiences.seen_at is 'events and engagement up to then were looked at';

create table flow_segment_members (
  flow_id bigint not null references flows on delete cascade,
  contact_id bigint not null,
  primary key (flow_id, contact_id)
) with (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_scale_factor = 0.05);
comment on table flow_segment_members is
  'contacts who matched the segment of a flow when they were last compared. Who is new here enters the flow';

create table flow_candidates (
  id bigint generated always as identity primary key,
  flow_id bigint not null,
  contact_id bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
comment on table flow_candidates is
  'contacts who changed, or whose lists did, since they were compared with the segment of a flow; a contact may be there twice';
create index flow_candidates_flow on flow_candidates (flow_id, id);
create index flows_segment on flows (brand_id) where status = 'active' and segment_id is not null;

create function note_flow_candidates() returns trigger language plpgsql as $$
begin
  if exists (select 1 from flows f where f.status = 'active' and f.segment_id is not null) then
    insert into flow_candidates (flow_id, contact_id)
    select f.id, c.id from changed c join flows f on f.brand_id = c.brand_id
    where f.status = 'active' and f.segment_id is not null;
  end if;
  return null;
end $$;
create trigger contacts_added_candidates after insert on contacts referencing new table as changed
  for each statement execute function note_flow_candidates();
create trigger contacts_changed_candidates after update on contacts referencing new table as changed
  for each statement execute function note_flow_candidates();

create function note_flow_candidates_by_list() returns trigger language plpgsql as $$
begin
  if exists (select 1 from flows f where f.status = 'active' and f.segment_id is not null) then
    insert into flow_candidates (flow_id, contact_id)
    select f.id, m.contact_id from changed m join lists l on l.id = m.list_id join flows f on f.brand_id = l.brand_id
    where f.status = 'active' and f.segment_id is not null;
  end if;
  return null;
end $$;
create trigger list_members_added_candidates after insert on list_members referencing new table as changed
  for each statement execute function note_flow_candidates_by_list();
create trigger list_members_removed_candidates after delete on list_members referencing old table as changed
  for each statement execute function note_flow_candidates_by_list();
`;

export const down = `
drop trigger list_members_removed_candidates on list_members;
drop trigger list_members_added_candidates on list_members;
drop trigger contacts_changed_candidates on contacts;
drop trigger contacts_added_candidates on contacts;
drop function note_flow_candidates_by_list, note_flow_candidates;
drop index flows_segment;
drop table flow_candidates, flow_segment_members, flow_audiences, flow_fills;
drop trigger list_members_enter on list_members;
drop function enter_flows_by_list;
drop sequence flow_causes;
drop function lock_flow_brands;
`;
