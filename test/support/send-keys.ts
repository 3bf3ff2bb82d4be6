/** Send-only keys of a tenant. */
import { generateKey } from '../../src/platform/auth/api-key.ts';
import type { Queryable } from '../../src/platform/db/queryable.ts';

export interface SendKey {
  id: number;
  key: string;
}

export async function insertSendKey(
  db: Queryable,
  { accountId, brandId }: { accountId: number; brandId: number },
): Promise<SendKey> {
  const { key, digest, displayPrefix } = generateKey('send');
  const { rows } = await db.query<{ id: number }>(
    `insert into send_keys (account_id, brand_id, name, display_prefix, digest) values ($1, $2, 'wordpress', $3, $4)
     returning id`,
    [accountId, brandId, displayPrefix, digest],
  );
  return { id: rows[0]?.id ?? 0, key };
}
