import type pg from 'pg';
import { AppError, invalid } from '../../errors.ts';
import { lockPassword } from '../../platform/auth/session-rows.ts';
import type { UserSession } from '../../platform/auth/session.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import { lockUser } from './model.ts';
import { replacePassword } from './passwords.ts';
import { getUser, lineOfUser, type PasswordChecks, type UserRow } from './service.ts';
import type { ChangePasswordBody } from './schema.ts';

export interface PasswordChangeDeps extends PasswordChecks {
  pool: pg.Pool;
  /** Counts a wrong password before it is checked. @returns a function that takes this back */
  countFailure(userId: number): () => void;
}

/** Changes the password of a signed-in user. */
export type ChangePassword = (session: UserSession, body: ChangePasswordBody) => Promise<UserRow>;

/**
 * The function that it returns ends all sessions of the user but the one that changes the password.
 *
 * It throws AppErrors: `validation_error` if the current password is wrong; `conflict` if the password was changed at
 * the same time; `rate_limited`.
 */
export function createPasswordChange({
  pool,
  checkPassword,
  hashPassword,
  countFailure,
}: PasswordChangeDeps): ChangePassword {
  return async ({ id, userId }, { current_password: current, password }) => {
    const { password_hash: known } = await getUser(pool, userId);
    const takeBack = countFailure(userId);
    const line = lineOfUser(userId);
    if (!(await checkPassword(known, current, line))) throw invalid({ current_password: ['is wrong'] });
    takeBack();
    const passwordHash = await hashPassword(password, line);
    return inTransaction(pool, async (trx) => {
      await lockUser(trx, userId);
      // A reset may have set another password since the check. That one must stay.
      if (!(await lockPassword(trx, userId, known))) {
        throw new AppError('conflict', 'the password was just changed');
      }
      await replacePassword(trx, userId, passwordHash, id);
      return getUser(trx, userId);
    });
  };
}
