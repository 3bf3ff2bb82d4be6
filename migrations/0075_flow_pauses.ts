/** The pause of a flow holds its messages: an intent looks at the flow under a lock that the pause waits for. */
export const name = '0075_flow_pauses';

export const up = `
alter table send_queue add column flow_id bigint;
comment on column send_queue.flow_id is 'of a flow''s message, so that the messages of a flow are found; null in rows of earlier versions';
update send_queue q set flow_id = m.flow_id from messages m where q.class = 1 and m.id = q.message_id;
create index send_queue_flow on send_queue (flow_id, message_id) where flow_id is not null;

alter table flows add column canceled_to bigint;
comment on column flows.canceled_to is 'messages with this id or a lower one that were not sent are canceled; null: none';

alter table flow_changes drop constraint flow_changes_change_check;
alter table flow_changes add constraint flow_changes_change_check
  check (change in ('resume', 'exit_overdue', 'archive', 'move', 'release_messages', 'cancel_messages'));
comment on table flow_changes is
  'changes of all runs of a flow that are being made, in pages by run id; changes of its messages in the queue, by message id';
comment on column flow_changes.data is 'of a move: {version_id}; of a release of messages: {paused_seconds}';

-- See accounts_to_send: the same for flows. An intent locks its accounts first.
create function flows_to_send(ids bigint[]) returns table (id bigint, status text, canceled_to bigint)
language plpgsql rows 5 as $$
begin
  perform pg_advisory_xact_lock_shared(1129468237, lock)
  from (select distinct (u.id % 2147483647)::int as lock from unnest(ids) as u (id) order by 1) locks;
  return query select f.id, f.status, f.canceled_to from flows f where f.id = any(ids);
end $$;
comment on function flows_to_send is
  'the flows of messages that are about to be sent; until the transaction ends, no pause or end of them is confirmed';

create function stop_flow_intents(flow bigint) returns void language sql as $$
  select pg_advisory_xact_lock(1129468237, (flow % 2147483647)::int)
$$;
comment on function stop_flow_intents is
  'waits until no intent of the flow is under way; until the transaction ends, no other begins';
`;

export const down = `
drop function stop_flow_intents, flows_to_send;
delete from flow_changes where change in ('release_messages', 'cancel_messages');
alter table flow_changes drop constraint flow_changes_change_check;
alter table flow_changes add constraint flow_changes_change_check
  check (change in ('resume', 'exit_overdue', 'archive', 'move'));
alter table flows drop column canceled_to;
drop index send_queue_flow;
alter table send_queue drop column flow_id;
`;
