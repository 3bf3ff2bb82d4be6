import { setTimeout as delay } from 'node:timers/promises';

/**
 * Ask until something is so.
 * @throws the last failure, or that it never became so, after `limitMs`
 */
export async function eventually<T>(
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  limitMs = 15_000,
): Promise<T> {
  const end = Date.now() + limitMs;
  for (;;) {
    let failure: unknown = new Error(`not within ${limitMs} ms`);
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      failure = error;
    }
    if (Date.now() > end) throw failure;
    await delay(100);
  }
}
