import type { Queryable } from '../db/queryable.ts';

/**
 * Remove some of the deliveries and attempts of a webhook that is gone.
 * @param client never inside the transaction that removes the webhook: attempts that are being recorded hold the
 *   deliveries and wait for the webhook
 * @returns deliveries removed
 */
export async function removeHistory(client: Queryable, webhookId: number, limit: number): Promise<number> {
  const { rowCount } = await client.query(
    `with doomed as (
       select id, created_at from webhook_deliveries where webhook_id = $1 limit $2
     ), unqueued as (
       delete from webhook_queue q using doomed d where q.delivery_id = d.id
     ), attempts as (
       delete from webhook_attempts a using doomed d where a.created_at = d.created_at and a.delivery_id = d.id
     )
     delete from webhook_deliveries w using doomed d where w.created_at = d.created_at and w.id = d.id`,
    [webhookId, limit],
  );
  return rowCount ?? 0;
}

/** Webhooks that are gone and have deliveries all the same, found by jumping from one webhook to the next. */
export async function findOrphanedHistories(client: Queryable, limit: number): Promise<number[]> {
  const { rows } = await client.query<{ webhook_id: number }>(
    `with recursive heard as (
       (select webhook_id from webhook_deliveries order by webhook_id limit 1)
       union all
       select next.webhook_id from heard h cross join lateral (
         select webhook_id from webhook_deliveries where webhook_id > h.webhook_id order by webhook_id limit 1) next
     )
     select h.webhook_id from heard h
     where not exists (select 1 from webhooks w where w.id = h.webhook_id) limit $1`,
    [limit],
  );
  return rows.map((row) => row.webhook_id);
}
