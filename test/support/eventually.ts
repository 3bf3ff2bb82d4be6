import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Repeats a check until it passes, and returns its result.
 * @param check throws if the condition is not met yet
 * @param pauseMs the pause between two checks; choose a longer one if a check slows down the tested programs
 * @throws the last error of `check` after `timeoutMs`
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  timeoutMs = 30_000,
  pauseMs = 25,
): Promise<T> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
      await sleep(pauseMs);
    }
  }
}
