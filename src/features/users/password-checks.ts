import { hash, verify } from '@node-rs/argon2';
import { Overload } from '../../errors.ts';
import { FairGate } from '../../platform/processes/fair-gate.ts';

/** The argon2id parameters that OWASP recommends: 19 MiB, 2 passes, 1 lane. */
const ARGON2_COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** @returns an argon2id hash in PHC format; takes about 20 ms in the thread pool */
export function hashPassword(password: string): Promise<string> {
  return hash(password, ARGON2_COST);
}

/** Checks a password. A malformed hash matches no password. */
export async function verifyPassword(passwordHash: string, password: string): Promise<boolean> {
  try {
    return await verify(passwordHash, password);
  } catch {
    return false;
  }
}

/**
 * Maximum number of concurrent checks and hashes. Each takes 19 MiB and a core for 20 ms, in the thread pool that the
 * process also needs for other things.
 */
const AT_ONCE = 2;
/** Of one line. */
const MAX_WAITING = 50;
const WAIT_MS = 10_000;
const RETRY_AFTER_SECONDS = 1;

/**
 * {@link verifyPassword} and {@link hashPassword} for requests.
 *
 * Both throw `unavailable` if too many wait in the line. The line names who asks, such as the network of a stranger: the
 * lines take turns, so that one client with many requests does not keep others from signing in.
 */
export interface PasswordChecks {
  checkPassword(passwordHash: string, password: string, line: string): Promise<boolean>;
  hashPassword(password: string, line: string): Promise<string>;
}

/** Limits how many passwords a process checks and hashes at once. */
export function createPasswordChecks(): PasswordChecks {
  const gate = new FairGate<string>({
    slots: AT_ONCE,
    perKey: AT_ONCE,
    maxWaiting: MAX_WAITING,
    waitMs: WAIT_MS,
    refusal: () => new Overload('too many passwords to check at once; try again soon', RETRY_AFTER_SECONDS),
  });
  return {
    checkPassword: (passwordHash, password, line) =>
      gate.run(line, () => verifyPassword(passwordHash, password)),
    hashPassword: (password, line) => gate.run(line, () => hashPassword(password)),
  };
}

/** The line of a signed-in user. */
export const lineOfUser = (userId: number): string => `user ${userId}`;
