import { notFound } from '../../errors.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { revokeGrantsOfUser } from '../oauth/index.ts';
import { endSessions } from '../sessions/service.ts';

/** Changes of a user's password and use of its links wait for each other. Lock the user before any other row. */
export async function lockUser(trx: Queryable, userId: number): Promise<void> {
  await trx.query('select 1 from users where id = $1 for no key update', [userId]);
}

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
  const { rowCount } = await trx.query(
    'update users set password_hash = $2, updated_at = now() where id = $1',
    [userId, passwordHash],
  );
  if (rowCount === 0) throw notFound('user');
  await trx.query('update password_resets set used_at = now() where user_id = $1 and used_at is null', [
    userId,
  ]);
  await endSessions(trx, userId, keptSession);
  // Last, so that a consent page which holds its session has made its grant: see `holdSession`.
  await revokeGrantsOfUser(trx, userId);
}
