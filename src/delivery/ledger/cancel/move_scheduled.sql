-- Gives scheduled messages another time, all of them or none. Returns what became of each message: moved, with the queue
-- and the provider of its backlog; ended, if it ended unsent before, which is no obstacle; or not_scheduled, and then
-- nothing was changed. A message that is not returned does not exist.
--
-- sent by: moveScheduled
-- account: the account of the messages
-- ids: the messages, all of one range of ids
-- to_time: when to send them; one that has passed means now
-- key_spaces: the endpoints under which the keys of messages are kept
-- locks: messages by id, send_queue by id, test_messages, idempotency_keys
-- sees: the messages and their queue rows are locked before they are read, so nothing claims them until the commit
-- partitions: messages
create function move_scheduled(account bigint, ids bigint[], to_time timestamptz, key_spaces text[])
returns table (id bigint, outcome text, queue text, provider bigint)
language plpgsql rows 10 as $$
#variable_conflict use_column
declare
  first_id bigint := (select min(i.id) from unnest(ids) as i (id));
  last_id bigint := (select max(i.id) from unnest(ids) as i (id));
  new_time timestamptz;
  found_ids bigint[];
  outcomes text[];
  queues text[];
  providers bigint[];
  moved_ids bigint[];
begin
  perform from messages m
  where m.id = any(ids) and m.id between first_id and last_id and m.account_id = account
  order by m.id for no key update;
  perform from send_queue q where q.message_id = any(ids) and q.account_id = account order by q.message_id for update;
  -- A scheduled message of a test key has no queue row. What gives it its outcome locks the message first.
  perform from test_messages t where t.message_id = any(ids) order by t.message_id for update;
  new_time := greatest(to_time, clock_timestamp());

  select array_agg(s.id order by s.id), array_agg(s.outcome order by s.id), array_agg(s.channel order by s.id),
    array_agg(s.provider_id order by s.id)
  into found_ids, outcomes, queues, providers
  from (
    select m.id, q.channel, q.provider_id, case
      when m.class = 0 and m.status in ('canceled', 'failed', 'skipped') then 'ended'
      when m.class = 0 and m.status = 'queued' and (
        q.owner is null and q.queued_at > clock_timestamp()
        or q.message_id is null and exists (
          select from test_messages t where t.message_id = m.id and t.ends_at > clock_timestamp())) then 'moved'
      else 'not_scheduled' end as outcome
    from messages m left join lateral (select * from send_queue s where s.message_id = m.id offset 0) q on true
    where m.id = any(ids) and m.id between first_id and last_id and m.account_id = account) s;

  if outcomes <@ array['moved', 'ended'] then
    moved_ids := array(select s.id from unnest(found_ids, outcomes) as s (id, outcome) where s.outcome = 'moved');
    update messages m set scheduled_at = new_time, updated_at = now()
    where m.id = any(moved_ids) and m.id between first_id and last_id;
    update send_queue q set due_at = new_time, queued_at = new_time where q.message_id = any(moved_ids);
    update test_messages t set ends_at = new_time where t.message_id = any(moved_ids);
    -- Keys are kept until a week after their messages are final.
    update idempotency_keys k set created_at = greatest(k.created_at, new_time +
      -- <lifetime>
      interval '72 hours'
      -- </lifetime>
    )
    from messages m
    where m.id = any(moved_ids) and m.id between first_id and last_id and k.brand_id = m.brand_id
      and k.endpoint = any(key_spaces) and k.key = m.idempotency_key and k.resource_id = m.id;
  end if;
  return query select * from unnest(found_ids, outcomes, queues, providers);
end $$;
