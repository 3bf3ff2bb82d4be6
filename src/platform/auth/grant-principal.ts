import { notFound } from '../../errors.ts';
import type { GrantCaller, GrantSelection } from './grant-caller.ts';
import type { AccountTenant, Principal } from './tenant.ts';

/**
 * The caller of a route when an assistant uses it for its user. Routes that ask for a confirmation refuse, because
 * no user gave a password.
 * @param isConfirmed whether the user has confirmed that the call changes what is being sent
 * @throws AppError `not_found` for what the user did not tick or may no longer use
 */
export function principalOfGrant(
  grant: GrantCaller,
  { accountId, brandId }: GrantSelection,
  isConfirmed = false,
): Principal & { tenant: AccountTenant } {
  const account = grant.choices.find((choice) => choice.accountId === accountId);
  if (!account) throw notFound('account');
  if (brandId !== null && !account.brands.some(({ id }) => id === brandId)) throw notFound('brand');
  const { role, hasAllBrands } = account;
  return {
    tenant: {
      ...{ accountId, brandId, actor: { kind: 'user', id: grant.userId, role }, role },
      ...(isConfirmed ? {} : { unconfirmed: true }),
      ...(hasAllBrands ? {} : { someBrands: true }),
    },
    // The request to the MCP endpoint was counted.
    rateLimitPerSecond: 0,
    rateLimitName: `grant ${grant.grantId}`,
    // No session has the id 0.
    session: {
      id: 0,
      userId: grant.userId,
      kind: 'token',
      confirmedAt: new Date(0),
      expiresAt: new Date(8_640_000_000_000_000),
      secondFactor: false,
    },
    grant,
  };
}
