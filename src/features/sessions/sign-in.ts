import type { IncomingMessage } from 'node:http';
import { AppError } from '../../errors.ts';
import { createClientAddress, loginNetwork, UNKNOWN_NETWORK } from '../../platform/auth/client-address.ts';
import type { SessionIssuer } from '../../platform/auth/session-issuer.ts';
import { lockPassword } from '../../platform/auth/session-rows.ts';
import type { SessionKind } from '../../platform/auth/session.ts';
import type { Database } from '../../platform/db/database.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import type { RateLimiter } from '../../platform/http/rate-limiter.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { getSecondFactor } from '../second-factor/service.ts';
import { emailKey, type PasswordChecks, type UserRow } from '../users/service.ts';
import { createLogin, type LoginAttempt } from './login.ts';

export interface SignInDeps {
  config: { TRUSTED_PROXIES: string[] };
  database: Database;
  keyring: Keyring;
  sessions: SessionIssuer;
  checkPassword: PasswordChecks['checkPassword'];
  rateLimiter: RateLimiter;
}

/**
 * Checks a password, and a code if the user has a second factor, and starts a session.
 * @returns the user, and the headers of the response
 * @throws AppError as `Login.logIn`, and forbidden if the request cannot have a session of this kind
 */
export type SignIn = (
  request: IncomingMessage,
  given: Omit<LoginAttempt, 'network'>,
  kind: SessionKind,
) => Promise<{ user: UserRow; headers: Record<string, string> }>;

/** All ways to sign in share one of these, and so its limits. */
export function createSignIn(deps: SignInDeps): SignIn {
  const { config, database, keyring, sessions, checkPassword, rateLimiter } = deps;
  const { pool } = database;
  const login = createLogin({ pool, keyring, checkPassword }, ({ email, network }, isKnown) =>
    rateLimiter.login(network ?? UNKNOWN_NETWORK, emailKey(email), isKnown),
  );
  const clientAddress = createClientAddress(config.TRUSTED_PROXIES);
  return async (request, given, kind) => {
    sessions.requireKind(request, kind);
    const address = clientAddress(request);
    const { user, secondFactor } = await login.logIn({ ...given, network: address && loginNetwork(address) });
    const issued = await inTransaction(pool, async (trx) => {
      if (!(await lockPassword(trx, user.id, user.password_hash))) {
        throw new AppError('unauthorized', 'the password was just changed');
      }
      // Turning the second factor on ends all sessions without a code, and must not miss this one.
      if (!secondFactor && (await getSecondFactor(trx, user.id)).enabled) {
        throw new AppError('otp_required', 'the second factor was just turned on');
      }
      return sessions.start(trx, request, { id: user.id, secondFactor }, kind);
    });
    return { user, headers: issued.headers };
  };
}
