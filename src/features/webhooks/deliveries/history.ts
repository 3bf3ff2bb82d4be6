import type pg from 'pg';
import { exactTime, inTransaction, type Queryable } from '../../../platform/db/queryable.ts';

/**
 * Removes some of the deliveries and attempts of a webhook that no longer exists.
 *
 * Deliveries are locked in the order in which they are recorded. Attempts are deleted by a second statement: a
 * transaction that was recording attempts has committed by the time its deliveries could be deleted, and only a statement
 * that begins after that sees its attempts.
 * @param pool never the transaction that removes the webhook: a transaction that records attempts locks the deliveries
 *   and then waits for the webhook
 * @returns the number of deliveries removed
 */
export function removeHistory(pool: pg.Pool, webhookId: number, limit: number): Promise<number> {
  return inTransaction(pool, async (trx) => {
    const { rows } = await trx.query<{ id: number; createdAt: string }>(
      `with removable as (
         select id, created_at from webhook_deliveries where webhook_id = $1 order by id limit $2 for update
       ), unqueued as (
         delete from webhook_queue where delivery_id = any(array(select id from removable))
       )
       delete from webhook_deliveries d using removable r where d.created_at = r.created_at and d.id = r.id
       returning d.id, ${exactTime('d.created_at')} as "createdAt"`,
      [webhookId, limit],
    );
    await trx.query(
      `delete from webhook_attempts a using unnest($1::bigint[], $2::timestamptz[]) as d (id, created_at)
       where a.created_at = d.created_at and a.delivery_id = d.id`,
      [rows.map((row) => row.id), rows.map((row) => row.createdAt)],
    );
    return rows.length;
  });
}

/** Finds removed webhooks that still have deliveries, by jumping through the index from one webhook to the next. */
export async function findOrphanedHistories(client: Queryable, limit: number): Promise<number[]> {
  const { rows } = await client.query<{ webhook_id: number }>(
    `with recursive known as (
       (select webhook_id from webhook_deliveries order by webhook_id limit 1)
       union all
       select next.webhook_id from known k cross join lateral (
         select webhook_id from webhook_deliveries where webhook_id > k.webhook_id order by webhook_id limit 1) next
     )
     select k.webhook_id from known k
     where not exists (select 1 from webhooks w where w.id = k.webhook_id) limit $1`,
    [limit],
  );
  return rows.map((row) => row.webhook_id);
}
