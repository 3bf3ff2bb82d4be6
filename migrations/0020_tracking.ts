/** Opens and clicks: every fetch of a pixel or link, and the first human one of each. */
export const name = '0020_tracking';

export const up = `
create table tracking_hits (
  created_at timestamptz not null,
  message_id bigint not null,
  account_id bigint not null,
  link smallint not null,
  is_bot boolean not null,
  reason text,
  user_agent text,
  ip inet
) partition by range (created_at);
comment on table tracking_hits is 'every fetch of a pixel or link, at most 100 of a message and hour';
comment on column tracking_hits.link is 'counted from 1; 0: the pixel';
comment on column tracking_hits.reason is 'why it does or does not count as a person, if its browser alone did not decide';
comment on column tracking_hits.ip is 'truncated to its network after 30 days';
create table tracking_hits_default partition of tracking_hits default;
create index tracking_hits_message on tracking_hits (message_id, created_at);
create index tracking_hits_age on tracking_hits using brin (created_at);

create table tracking_overflow (
  message_id bigint not null,
  hour timestamptz not null,
  hits bigint not null,
  primary key (message_id, hour)
);
comment on table tracking_overflow is 'how many hits of a message and hour were not kept, because 100 were';

create table tracking_fetches (
  message_id bigint not null,
  link smallint not null,
  fetched_at timestamptz not null,
  account_id bigint not null,
  links smallint not null,
  due_at timestamptz,
  url text,
  user_agent text,
  primary key (message_id, link, fetched_at)
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000,
  autovacuum_vacuum_cost_delay = 0
);
comment on table tracking_fetches is
  'the fetches of the last minute, by the second: which links of a message were fetched together';
comment on column tracking_fetches.links is 'how many tracked links the message has';
comment on column tracking_fetches.due_at is 'when it is decided whether a person fetched it; null: nothing to decide';
create index tracking_fetches_due on tracking_fetches (due_at) where due_at is not null;
create index tracking_fetches_done on tracking_fetches (fetched_at) where due_at is null;

create table message_interactions (
  message_id bigint not null,
  link smallint not null,
  occurred_at timestamptz not null,
  url text,
  user_agent text,
  primary key (message_id, link)
) partition by range (message_id);
comment on table message_interactions is
  'the first time a person opened a message (link 0) or clicked each of its links; the key makes each count once';
do $$
declare
  events record;
begin
  for events in
    select substring(c.relname from '[0-9]+$') as n, pg_get_expr(c.relpartbound, c.oid) as bounds
    from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'message_events'::regclass
  loop
    execute format('create table message_interactions_%s partition of message_interactions %s', events.n, events.bounds);
  end loop;
end $$;

create table tracking_addresses (truncated_before timestamptz not null);
comment on table tracking_addresses is 'one row: up to when the addresses in tracking_hits are truncated';
insert into tracking_addresses values (now());

alter table domains add column tracking_ok_at timestamptz, add column tracking_probe_at timestamptz;
comment on column domains.tracking_ok_at is
  'since when our probe of tracking_host succeeds; null: links of new mail lead to PUBLIC_URL';
comment on column domains.tracking_probe_at is 'when the host is probed next; null: at once if its record is right';

create index accounts_paused on accounts (id) where sending_paused_at is not null;
comment on column messages.tracking is
  'pinned when the message was accepted: opens, clicks, host and own (base URLs), and the id of the key of its links';
`;

export const down = `
comment on column messages.tracking is null;
drop index accounts_paused;
alter table domains drop column tracking_ok_at, drop column tracking_probe_at;
drop table tracking_addresses, message_interactions, tracking_fetches, tracking_overflow, tracking_hits;
`;
