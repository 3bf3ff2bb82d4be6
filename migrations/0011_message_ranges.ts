/** Partitions of messages, their contents and their events, by range of message ids. */
export const name = '0011_message_ranges';

/** Number of ids in a range. A partition of `message_contents` covers one range, other partitions cover eight. */
const RANGE_IDS = 4_294_967_296;

/**
 * SQL: the function `hold_messages`.
 * @param holdable condition on the message `m`: its status shows that it is held
 * @param further more assignments, each after a comma
 */
export const holdMessagesSql = (holdable: string, further = '') => `
create or replace function hold_messages(holds jsonb) returns setof bigint language plpgsql strict rows 50 as $$
declare
  ids bigint[] := array(select key::bigint from jsonb_object_keys(holds) as k (key));
  first bigint := (select min(id) from unnest(ids) as i (id));
  last bigint := (select max(id) from unnest(ids) as i (id));
begin
  return query
  with lockable as (
    select m.id from messages m where m.id = any(ids) and m.id between first and last
    order by m.id for no key update skip locked
  ), marked as (
    update messages m set status = 'held', updated_at = now(), hold = holds -> m.id::text -> 'hold'${further}
    where m.id = any(array(select id from lockable)) and m.id between first and last
      and ${holdable}
  )
  select id from lockable;
end $$;`;

/** SQL condition on the message `m`: it may be handed over. */
export const OPEN = `m.status in ('queued', 'held', 'unknown')`;

export const up = `
create table message_ranges (
  n bigint primary key,
  opened_at timestamptz not null default now(),
  closed_at timestamptz
);
comment on table message_ranges is
  'ranges of 2^32 message ids, each in use for about a week: range n starts at id n * 2^32';
comment on column message_ranges.opened_at is 'no id of the range was taken before';
comment on column message_ranges.closed_at is 'no id of the range was taken after; null: the range is in use';
insert into message_ranges (n, opened_at) select 0, coalesce(min(created_at), now()) from messages;

-- The identity's sequence belongs to a table that becomes a partition.
create sequence message_ids;
select setval('message_ids', last_value, is_called) from messages_id_seq;
alter table messages alter id drop identity;
alter sequence message_ids rename to messages_id_seq;

alter table messages rename to messages_0;
alter index messages_pkey rename to messages_0_pkey;
alter index messages_brand rename to messages_0_brand;
alter index messages_recipient rename to messages_0_recipient;
create table messages (like messages_0 including all excluding indexes excluding storage)
  partition by range (id);
alter table messages alter id set default nextval('messages_id_seq');
alter table messages_0 alter id set default nextval('messages_id_seq');
alter table messages add primary key (id);
create index messages_brand on messages (brand_id, id);
create index messages_recipient on messages (brand_id, to_key, id);
alter table messages attach partition messages_0 for values from (0) to (${8 * RANGE_IDS});
comment on table messages is
  'no index may contain a column that sending changes, such as status, or every update would change every index';

alter table message_contents rename to message_contents_0;
alter index message_contents_pkey rename to message_contents_0_pkey;
drop index message_contents_age;
create table message_contents (like message_contents_0 including all excluding indexes excluding storage)
  partition by range (message_id);
alter table message_contents add primary key (message_id);
alter table message_contents attach partition message_contents_0 for values from (0) to (${RANGE_IDS});

alter table message_events rename to message_events_0;
alter index message_events_pkey rename to message_events_0_pkey;
create table message_events (like message_events_0 including all excluding indexes excluding storage)
  partition by range (message_id);
alter table message_events add primary key (message_id, attempt, type);
alter table message_events attach partition message_events_0 for values from (0) to (${8 * RANGE_IDS});
comment on table message_events is
  'outcomes of attempts that the row of the message does not show. The row shows that an attempt was accepted, when, and with which response. The key makes it harmless to record an outcome twice';

-- A statement opens every partition of each table that it updates. Most claims hold no message, so the update of
-- messages is a function, which a claim calls only if it does.
${holdMessagesSql(OPEN)}
comment on function hold_messages is
  'holds the messages with these ids, except those that another transaction is changing; returns the ids it could lock';
`;

export const down = `
drop function hold_messages;
create table all_messages (like messages including all)
  with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
insert into all_messages select * from messages;
create table all_contents (like message_contents including all);
insert into all_contents select * from message_contents;
create table all_events (like message_events including all);
insert into all_events select * from message_events;
drop table messages, message_contents, message_events, message_ranges;

alter table all_messages rename to messages;
alter table messages alter id drop default;
alter sequence messages_id_seq rename to message_ids;
alter table messages alter id add generated by default as identity;
select setval('messages_id_seq', last_value, is_called) from message_ids;
drop sequence message_ids;
alter index all_messages_pkey rename to messages_pkey;
alter index all_messages_brand_id_id_idx rename to messages_brand;
alter index all_messages_brand_id_to_key_id_idx rename to messages_recipient;

alter table all_contents rename to message_contents;
alter index all_contents_pkey rename to message_contents_pkey;
create index message_contents_age on message_contents using brin (created_at);
alter table all_events rename to message_events;
alter index all_events_pkey rename to message_events_pkey;
`;
