import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { AppError } from '../../errors.ts';
import type { IssuedSession } from '../../platform/auth/session-issuer.ts';
import { lockPassword } from '../../platform/auth/session-rows.ts';
import type { UserSession } from '../../platform/auth/session.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import { requireSecondFactor } from '../second-factor/service.ts';
import { getUser, lineOfUser } from '../users/service.ts';
import type { confirmBody } from './schema.ts';
import type { SignInDeps } from './sign-in.ts';

export type ConfirmDeps = Pick<
  SignInDeps,
  'database' | 'keyring' | 'sessions' | 'checkPassword' | 'rateLimiter'
>;

/**
 * Checks the password of a signed-in user once more, and a code if there is a second factor, and replaces the session by
 * a confirmed one.
 * @returns the new session, and the headers of the response
 * @throws AppError unauthorized if the password is wrong, or if the session has ended; otp_required; rate_limited
 */
export type ConfirmSession = (
  request: IncomingMessage,
  session: UserSession,
  given: z.output<typeof confirmBody>,
) => Promise<IssuedSession>;

/** All ways to give the password again share the limits of this. */
export function createConfirmSession(deps: ConfirmDeps): ConfirmSession {
  const { database, keyring, sessions, checkPassword, rateLimiter } = deps;
  const { pool } = database;
  return async (request, session, { password, otp }) => {
    const { userId } = session;
    const { password_hash: passwordHash } = await getUser(pool, userId);
    const takeBack = rateLimiter.confirmation(userId);
    if (!(await checkPassword(passwordHash, password, lineOfUser(userId)))) {
      throw new AppError('unauthorized', 'wrong password');
    }
    takeBack();
    const secondFactor = await requireSecondFactor({ pool, keyring }, userId, otp);
    return inTransaction(pool, async (trx) => {
      if (!(await lockPassword(trx, userId, passwordHash))) {
        throw new AppError('unauthorized', 'the password was just changed');
      }
      return sessions.renew(trx, request, session, { secondFactor });
    });
  };
}
