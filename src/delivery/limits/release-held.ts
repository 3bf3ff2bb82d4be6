import type { Queryable } from '../../platform/db/queryable.ts';

/**
 * Makes an account's held messages due at once. Call it in the transaction that resumes the account or raises one of
 * its limits; the next claim holds those again that still have to wait.
 */
export async function releaseHeld(client: Queryable, accountId: number): Promise<void> {
  await client.query(
    `with waiting as (
       select message_id from send_queue
       where account_id = $1 and owner is null and due_at > now() order by message_id for update
     ), released as (
       update messages m set status = 'queued', hold = null, updated_at = now()
       from waiting w where m.id = w.message_id and m.status = 'held' returning m.id
     )
     update send_queue set due_at = now() where message_id = any(array(select id from released))`,
    [accountId],
  );
}
