import { notFound } from '../../errors.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { revokeGrantsOfUser } from '../oauth/index.ts';
import { endSessions } from '../sessions/service.ts';
import { updateUser } from './model.ts';

/**
 * Replaces a user's password. Ends the user's sessions, forgets the known networks, makes the links for new
 * passwords useless that were mailed before, and disconnects the user's assistants.
 * @param keptSession the id of a session that stays
 * @throws AppError not_found
 */
export async function replacePassword(
  trx: Queryable,
  userId: number,
  passwordHash: string,
  keptSession: number | null = null,
): Promise<void> {
  // First: see `deleteSessions`.
  if (!(await updateUser(trx, userId, { password_hash: passwordHash }))) throw notFound('user');
  await trx.query('update password_resets set used_at = now() where user_id = $1 and used_at is null', [
    userId,
  ]);
  await endSessions(trx, userId, keptSession);
  // Last, so that a consent page which holds its session has made its grant: see `holdSession`.
  await revokeGrantsOfUser(trx, userId);
}
