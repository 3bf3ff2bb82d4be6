import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Ask again until it holds.
 * @param check throws while it does not
 * @throws the last error after `timeoutMs`
 */
export async function eventually<T>(check: () => T | Promise<T>, timeoutMs = 15_000): Promise<T> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
      await sleep(25);
    }
  }
}
