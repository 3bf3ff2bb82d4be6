import type { Queryable } from '../../../platform/db/queryable.ts';
import type { BatchMessage } from './batch.ts';

type Covered = readonly Pick<BatchMessage, 'messageId' | 'attempt'>[];

const idsOf = (messages: Covered) => messages.map(({ messageId }) => messageId);
const attemptsOf = (messages: Covered) => messages.map(({ attempt }) => attempt);

/**
 * Divides an intent, so that two parts of its batch can be recorded one after the other. If the process dies in
 * between, only the messages of the second part become unknown. Like an intent, it is fenced by the row of the process:
 * once the process was declared dead, nothing is changed. Can be repeated.
 * @param intent with the messages that stay in it
 * @param other a number that the process has not used before, and the messages that the new intent gets
 */
export async function divideIntent(
  client: Queryable,
  intent: { owner: number; seq: number; messages: Covered },
  other: { seq: number; messages: Covered },
): Promise<void> {
  await client.query(
    `with alive as materialized (
       select id from processes where id = $1 for key share
     ), divided as (
       update handovers h set message_ids = $3, attempts = $4 from alive where h.owner = alive.id and h.seq = $2
       returning h.*
     )
     insert into handovers
       (owner, seq, provider, message_ids, attempts, report_seconds, campaign_id, block_n, block_epoch, intended_at)
     select owner, $5, provider, $6, $7, report_seconds, campaign_id, block_n, block_epoch, intended_at from divided
     on conflict (owner, seq) do nothing`,
    [
      intent.owner,
      intent.seq,
      idsOf(intent.messages),
      attemptsOf(intent.messages),
      other.seq,
      idsOf(other.messages),
      attemptsOf(other.messages),
    ],
  );
}
