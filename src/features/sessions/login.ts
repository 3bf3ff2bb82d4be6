import { AppError } from '../../errors.ts';
import { requireSecondFactor, type SecondFactorDeps } from '../second-factor/service.ts';
import {
  emailKey,
  findUserByEmail,
  generatePassword,
  hashPassword,
  type PasswordChecks,
  type UserRow,
} from '../users/service.ts';
import { isKnownNetwork, rememberNetwork } from './known-networks.ts';

export interface LoginAttempt {
  email: string;
  password: string;
  /** The code of the second factor. */
  otp?: string | undefined;
  /** The client's network; null: unknown. */
  network: string | null;
}

/** A user who has proved to be who they are. */
export interface VerifiedUser {
  user: UserRow;
  /** Whether the user gave a code. */
  secondFactor: boolean;
}

export interface Login {
  /**
   * Checks a password and the code of the second factor, and remembers the network of a successful login. Failures from
   * a known network have a separate limit, so that others cannot lock the user out there.
   * @throws AppError unauthorized; its text and timing do not reveal whether the address or the password is wrong.
   *   otp_required if only the code is missing; rate_limited; unavailable
   */
  logIn(attempt: LoginAttempt): Promise<VerifiedUser>;
}

/**
 * Counts an attempt as failed.
 * @param isKnown whether the user has logged in from the network lately
 * @returns a function that takes this back
 * @throws AppError rate_limited
 */
export type CountFailure = (attempt: Pick<LoginAttempt, 'email' | 'network'>, isKnown: boolean) => () => void;

export interface LoginDeps extends SecondFactorDeps {
  checkPassword: PasswordChecks['checkPassword'];
}

export function createLogin(deps: LoginDeps, countFailure: CountFailure): Login {
  const { pool: db, checkPassword: check } = deps;
  // Checked if the address is unknown, so that the response takes as long as for a known one.
  const dummyHash = hashPassword(generatePassword());

  /** Queries the database about the network only if the attempt would otherwise be refused. */
  async function count(attempt: LoginAttempt): Promise<() => void> {
    try {
      return countFailure(attempt, false);
    } catch (error) {
      if (!(await isKnownNetwork(db, emailKey(attempt.email), attempt.network))) throw error;
      return countFailure(attempt, true);
    }
  }

  /** @returns null if the address or the password is wrong */
  async function findVerified({ email, password, network }: LoginAttempt): Promise<UserRow | null> {
    const user = await findUserByEmail(db, email);
    const hash = user?.password_hash ?? (await dummyHash);
    const matches = await check(hash, password, `sign-in from ${network}`);
    return user && matches ? user : null;
  }

  return {
    async logIn(attempt) {
      const takeBack = await count(attempt);
      const user = await findVerified(attempt).catch((error: unknown) => {
        takeBack();
        throw error;
      });
      if (!user) throw new AppError('unauthorized', 'wrong email or password');
      takeBack();
      const secondFactor = await requireSecondFactor(deps, user.id, attempt.otp);
      await rememberNetwork(db, user, attempt.network);
      return { user, secondFactor };
    },
  };
}
