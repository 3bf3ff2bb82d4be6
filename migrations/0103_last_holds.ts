/** Since when and why a message was last held, which stays known after it goes on. */
import { holdMessagesSql } from './0011_message_ranges.ts';
import { HOLDABLE } from './0046_flow_counts.ts';

export const name = '0103_last_holds';

/** A message that one limit holds again and again is held since the first time. */
const LAST_HOLD = `,
      last_hold = jsonb_build_object('reason', holds -> m.id::text -> 'hold' -> 'reason', 'held_at',
        case when m.last_hold -> 'reason' = holds -> m.id::text -> 'hold' -> 'reason' then m.last_hold -> 'held_at'
          else to_jsonb(now()) end)`;

export const up = `
alter table messages add column last_hold jsonb;
comment on column messages.last_hold is
  '{reason, held_at, released_at}: released_at is missing while it is held, and if it went on by itself; null: never held, or before this was kept';
${holdMessagesSql(HOLDABLE, LAST_HOLD)}`;

export const down = `
${holdMessagesSql(HOLDABLE)}
alter table messages drop column last_hold;
`;
