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

/** Each has 19 MiB and a core for 20 ms, in the thread pool that the process needs for other things, too. */
const AT_ONCE = 2;
const MAX_WAITING = 50;
const WAIT_MS = 10_000;
const RETRY_AFTER_SECONDS = 1;
/** All passwords wait in one queue. */
const QUEUE = 0;

/**
 * Bounds the passwords that a process checks at once, whoever logs in.
 * @returns {@link verifyPassword}, which throws unavailable if too many passwords wait to be checked
 */
export function createPasswordChecks(): typeof verifyPassword {
  const gate = new FairGate({
    places: AT_ONCE,
    perKey: AT_ONCE,
    maxWaiting: MAX_WAITING,
    waitMs: WAIT_MS,
    refusal: () => new Overload('too many logins at once; try again', RETRY_AFTER_SECONDS),
  });
  return (passwordHash, password) => gate.run(QUEUE, () => verifyPassword(passwordHash, password));
}
