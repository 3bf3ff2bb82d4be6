import type { Queryable } from '../../../platform/db/queryable.ts';
import type { HandOverOutcome } from '../../terms/hand-over-outcome.ts';
import type { BatchMessage } from '../intend/batch.ts';
import type { Claim } from '../ownership/claims.ts';

/**
 * Counts a second lost connection of a message as an attempt: `lost` becomes `deferred`.
 * @param suspect the batch is one message that has lost a connection before
 */
export function chargeLoss(outcome: HandOverOutcome, suspect: boolean): HandOverOutcome {
  return suspect && outcome.kind === 'lost' ? { kind: 'deferred', response: outcome.reason } : outcome;
}

/** Whether a connection ended with the message. */
export function endedConnection(outcome: HandOverOutcome | undefined): boolean {
  return outcome?.kind === 'lost' || (outcome?.kind === 'deferred' && outcome.connectionLost === true);
}

/** Whether the batch is one message that has lost a connection before. Such a message is alone in its batch. */
export function isSuspect(claims: readonly Claim[]): boolean {
  return claims.some(({ losses }) => losses > 0);
}

/**
 * Counts lost connections in the queue rows of their messages, so that every sender hands these over alone from now on.
 * @param messages with their outcomes, in the same order; the owner must still have their claims
 */
export async function countLosses(
  client: Queryable,
  owner: number,
  messages: readonly BatchMessage[],
  outcomes: readonly HandOverOutcome[],
): Promise<void> {
  const lost = messages.filter((_message, index) => outcomes[index]?.kind === 'lost');
  if (lost.length === 0) return;
  // All statements lock queue rows in this order, to avoid deadlocks.
  const ids = lost.map(({ messageId }) => messageId).sort((one, other) => one - other);
  await client.query(
    `with mine as (
       select s.message_id from unnest($2::bigint[]) as l (message_id)
       cross join lateral (
         select message_id from send_queue q
         where q.message_id = l.message_id and q.owner is not distinct from $1 for update) s
     )
     update send_queue q set connection_losses = least(q.connection_losses + 1, 1000)
     where q.message_id = any(array(select message_id from mine))`,
    [owner, ids],
  );
}
