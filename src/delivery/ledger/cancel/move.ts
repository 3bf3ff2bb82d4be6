import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineFunction } from '../../../platform/db/sql/define.ts';
import type { QueueChannel } from '../../terms/channels/queue-channel.ts';
import { MESSAGE_LIFETIME } from '../../terms/message.ts';

export const moveScheduledFunction = defineFunction(import.meta.url, './move_scheduled.sql', {
  table: undefined,
  regions: { lifetime: () => MESSAGE_LIFETIME },
});

/** A message that {@link moveScheduled} was given. */
export interface Moved {
  id: number;
  /** `ended`: it had ended without being sent, which is no obstacle. */
  outcome: 'moved' | 'ended' | 'not_scheduled';
  /** The queue that it waits in; null: in none, like a message of a test key. */
  queue: QueueChannel | null;
  provider: number | null;
}

/**
 * Gives scheduled messages another time, all or none. Wake the senders after the commit: the time may be now.
 * @param trx inside a transaction
 * @param ids of one account and one range of ids
 * @param time one that has passed means now
 * @param keySpaces the endpoints under which the keys of messages are kept
 * @returns the messages that exist. Something was changed only if all are `moved` or `ended`.
 */
export async function moveScheduled(
  trx: Queryable,
  accountId: number,
  ids: readonly number[],
  time: Date,
  keySpaces: readonly string[],
): Promise<Moved[]> {
  const { rows } = await trx.query<Moved>(`select * from ${moveScheduledFunction.name}($1, $2, $3, $4)`, [
    accountId,
    ids,
    time,
    keySpaces,
  ]);
  return rows;
}
