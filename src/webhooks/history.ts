import type pg from 'pg';
import { inTransaction, type Queryable } from '../db/queryable.ts';
import { exactTime } from './attempt.ts';

/**
 * Remove some of the deliveries and attempts of a webhook that is gone. Attempts go by a statement of their own:
 * those that were being recorded are committed when their delivery could be removed, and seen only from then on.
 * Deliveries are locked in the order in which they are recorded, too.
 * @param pool never the transaction that removes the webhook: attempts that are being recorded hold the
 *   deliveries and wait for the webhook
 * @returns deliveries removed
 */
export function removeHistory(pool: pg.Pool, webhookId: number, limit: number): Promise<number> {
  return inTransaction(pool, async (trx) => {
    const { rows } = await trx.query<{ id: number; createdAt: string }>(
      `with doomed as (
         select id, created_at from webhook_deliveries where webhook_id = $1 order by id limit $2 for update
       ), unqueued as (
         delete from webhook_queue where delivery_id = any(array(select id from doomed))
       )
       delete from webhook_deliveries w using doomed d where w.created_at = d.created_at and w.id = d.id
       returning w.id, ${exactTime('w.created_at')} as "createdAt"`,
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
