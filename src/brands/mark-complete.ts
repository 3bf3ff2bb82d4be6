import type { Queryable } from '../db/queryable.ts';
import { isComplete, type BrandRow } from './model.ts';

/**
 * The onboarding step `brand` is done once and for all when a brand is first complete.
 * @param trx the transaction that made or changed the brand
 */
export async function markComplete(trx: Queryable, brand: BrandRow): Promise<void> {
  if (!isComplete(brand)) return;
  await trx.query(
    `update accounts
     set onboarding_state = onboarding_state || jsonb_build_object('brand', jsonb_build_object('completed_at', now()))
     where id = $1 and not onboarding_state ? 'brand'`,
    [brand.account_id],
  );
}
