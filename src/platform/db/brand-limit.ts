import type { Queryable } from './queryable.ts';

/**
 * Counts rows of a brand, for a limit on their number. Until the transaction ends, other transactions that call this for
 * the brand wait, so that together they cannot exceed the limit.
 * @param source trusted SQL to follow `from`, in which `$1` is the brand, such as `webhooks where brand_id = $1`
 */
export async function countUnderLock(trx: Queryable, brandId: number, source: string): Promise<number> {
  await trx.query('select 1 from brands where id = $1 for no key update', [brandId]);
  const { rows } = await trx.query<{ count: number }>(`select count(*) as count from ${source}`, [brandId]);
  return rows[0]?.count ?? 0;
}
