import { deleteSessions } from '../../platform/auth/session-rows.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { forgetNetworks } from './known-networks.ts';

export { findOwnAccounts, type OwnAccountRow } from './model.ts';
export type { ConfirmSession } from './confirm.ts';
export type { SignIn } from './sign-in.ts';

/**
 * Ends the sessions of a user, and forgets the user's known networks.
 * @param trx if the password changes, it does so in an earlier statement of this transaction; see `deleteSessions`
 * @param kept the id of a session that stays
 */
export async function endSessions(trx: Queryable, userId: number, kept: number | null = null): Promise<void> {
  await deleteSessions(trx, userId, kept);
  await forgetNetworks(trx, userId);
}
