/** What an account may do, and whether an operator approves what it sends. */
import { AppError } from '../../errors.ts';
import type { AccountTenant } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type AccountRules, findRules } from './model.ts';
import { capabilitiesOf } from './schema.ts';

/** @throws AppError forbidden if the account may not use a feature */
export async function requireCapability(
  db: Queryable,
  { accountId }: Pick<AccountTenant, 'accountId'>,
  capability: 'campaigns' | 'flows' | 'validation' | 'inboxes',
): Promise<AccountRules> {
  const account = await findRules(db, accountId);
  if (!capabilitiesOf(account.capabilities)[capability]) {
    throw new AppError('forbidden', `this account may not use ${capability}`);
  }
  return account;
}

/**
 * Whether an operator must approve what the account sends. An approved account needs no approval; a pending or rejected
 * one needs it in every tier.
 * @param approvalTiers the setting APPROVAL_TIERS
 */
export function needsApproval(
  { tier, approval_state: state }: AccountRules,
  approvalTiers: readonly string[],
): boolean {
  return state === 'not_required' ? approvalTiers.includes(tier) : state !== 'approved';
}
