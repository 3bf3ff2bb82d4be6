import type { Queryable } from '../../platform/db/queryable.ts';
import { SEEN_SQL } from '../../platform/processes/fleet.ts';

/** `paused`: an operator has paused or is draining every sender. `stopped`: no sender process runs. */
export const senderStates = ['running', 'paused', 'stopped'] as const;

/** Whether this installation sends at all. A sender that no lane steers yet counts as running. */
export async function readSenderState(client: Queryable): Promise<(typeof senderStates)[number]> {
  const { rows } = await client.query<{ state: (typeof senderStates)[number] }>(
    `select case when count(*) = 0 then 'stopped'
       when bool_and(coalesce(l.mode, 'running') <> 'running') then 'paused' else 'running' end as state
     from processes p left join lanes l on l.kind = 'send' and l.process_id = p.id
     where p.role = 'sender' and p.${SEEN_SQL}`,
  );
  return rows[0]?.state ?? 'stopped';
}
