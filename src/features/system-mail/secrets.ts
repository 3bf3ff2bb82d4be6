import type pg from 'pg';
import { MESSAGE_LIFETIME, openStatuses, statusList } from '../../delivery/terms/message.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import type { Pulse } from '../../platform/processes/pulse.ts';
import type { Repeating } from '../../platform/processes/repeat.ts';

const BATCH = 100;

/**
 * Finds mails with secret links that will not be sent (again). A message whose outcome stays unknown is not sent again
 * after the lifetime of messages. Several workers may look at once.
 */
const FIND_SENT = `
  select s.message_id from secret_mails s left join messages m on m.id = s.message_id
  where m.id is null or m.status not in (${statusList(openStatuses)})
    or s.created_at < now() - ${MESSAGE_LIFETIME}
  order by s.message_id limit ${BATCH} for update of s skip locked`;

/**
 * Removes the contents of mails with secret links that have been sent or will never be sent.
 * @returns whether there may be more
 */
export function removeSentSecrets(pool: pg.Pool): Promise<boolean> {
  return inTransaction(pool, async (trx) => {
    const { rows } = await trx.query<{ message_id: number }>(FIND_SENT);
    if (rows.length === 0) return false;
    // The ids are a parameter, so that the plan has only the partitions of these messages.
    const ids = [rows.map(({ message_id }) => message_id)];
    await trx.query('delete from message_contents where message_id = any ($1)', ids);
    await trx.query('delete from secret_mails where message_id = any ($1)', ids);
    return rows.length === BATCH;
  });
}

/** Removes secrets from sent mail, within a second. Any number of processes may run this. */
export function startSecretRemoval({ pool, pulse }: { pool: pg.Pool; pulse: Pulse }): Repeating {
  // Not whether they were sent: that would look at every partition of the messages.
  const queue = { name: 'removing secrets from sent mail', waiting: 'exists (select from secret_mails)' };
  return pulse.repeat(queue, () => removeSentSecrets(pool));
}
