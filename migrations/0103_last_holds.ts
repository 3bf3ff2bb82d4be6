/** Since when and why a message was last held, which stays known after it goes on. */
import { holdMessagesSql, OPEN } from './0011_message_ranges.ts';

export const name = '0103_last_holds';

/** SQL condition on the message `m`, as in 0046: a message of a campaign or flow that may have arrived stays `unknown`. */
const HOLDABLE = `${OPEN} and (m.status <> 'unknown' or m.class = 0)`;

export const up = `
alter table messages add column last_hold jsonb;
comment on column messages.last_hold is
  '{reason, held_at, released_at}: released_at is missing while it is held, and if it went on by itself; null: never held, or before this was kept';
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
    update messages m set status = 'held', updated_at = now(), hold = holds -> m.id::text -> 'hold',
      -- A message that one limit holds again and again is held since the first time.
      last_hold = jsonb_build_object('reason', holds -> m.id::text -> 'hold' -> 'reason', 'held_at',
        case when m.last_hold -> 'reason' = holds -> m.id::text -> 'hold' -> 'reason' then m.last_hold -> 'held_at'
          else to_jsonb(now()) end)
    where m.id = any(array(select id from lockable)) and m.id between first and last
      and ${HOLDABLE}
  )
  select id from lockable;
end $$;`;

export const down = `
${holdMessagesSql(HOLDABLE)}
alter table messages drop column last_hold;
`;
