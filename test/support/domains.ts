import { returnPathHostOf } from '../../src/delivery/addresses/return-path-host.ts';
import { trackingHostOf } from '../../src/features/domains/records.ts';
import type { Database } from '../../src/platform/db/database.ts';

/** Inserts a verified domain without keys. @returns its id */
export async function insertVerifiedDomain(
  { pool }: Database,
  { accountId, brandId }: { accountId: number; brandId: number },
  name: string,
  providerId?: number,
): Promise<number> {
  const { rows } = await pool.query<{ id: number }>(
    `insert into domains (account_id, brand_id, name, provider_id, status, verified_at, return_path_host,
       tracking_host, provider_records)
     values ($1, $2, $3, $4, 'verified', now(), $5, $6, '[]') returning id`,
    [accountId, brandId, name, providerId ?? null, returnPathHostOf(name), trackingHostOf(name)],
  );
  return rows[0]?.id ?? 0;
}
