import type { Queryable } from '../../src/platform/db/queryable.ts';
import type { QueuedAccount } from './queued.ts';

/** Inserts contacts with the addresses `<prefix>0@example.com` and so on. @returns their ids */
export async function insertContacts(
  db: Queryable,
  { accountId, brandId }: QueuedAccount,
  count: number,
  prefix = 'contact',
): Promise<number[]> {
  const { rows } = await db.query<{ id: number }>(
    `insert into contacts (account_id, brand_id, email, email_key, email_subscribed, email_created_at,
       email_updated_at)
     select $1, $2, a.address, a.address, true, now(), now()
     from generate_series(0, $3 - 1) n, lateral (select $4 || n || '@example.com' as address) a
     returning id`,
    [accountId, brandId, count, prefix],
  );
  return rows.map((row) => row.id);
}
