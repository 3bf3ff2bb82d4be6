import { verify } from '@node-rs/argon2';
import { Overload } from '../../errors.ts';
import { FairGate } from '../../platform/processes/fair-gate.ts';

/** Checks a password. A malformed hash matches no password. */
export async function verifyPassword(passwordHash: string, password: string): Promise<boolean> {
  try {
    return await verify(passwordHash, password);
  } catch {
    return false;
  }
}

/**
 * Maximum number of concurrent checks. Each takes 19 MiB and a core for 20 ms, in the thread pool that the process also
 * needs for other things.
 */
const AT_ONCE = 2;
const MAX_WAITING = 50;
const WAIT_MS = 10_000;
const RETRY_AFTER_SECONDS = 1;
/** All checks share one queue. */
const QUEUE = 0;

/**
 * Limits how many passwords a process checks at once.
 * @returns {@link verifyPassword}, which throws unavailable if too many checks are waiting
 */
export function createPasswordChecks(): typeof verifyPassword {
  const gate = new FairGate({
    places: AT_ONCE,
    perKey: AT_ONCE,
    maxWaiting: MAX_WAITING,
    waitMs: WAIT_MS,
    refusal: () => new Overload('too many logins at once; try again soon', RETRY_AFTER_SECONDS),
  });
  return (passwordHash, password) => gate.run(QUEUE, () => verifyPassword(passwordHash, password));
}
