import type { Queryable } from '../../platform/db/queryable.ts';
import { isComplete, type BrandRow } from './model.ts';

/**
 * Completes the onboarding step `brand` when a brand is complete for the first time. The step stays completed.
 * @param trx the transaction that created or changed the brand
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
