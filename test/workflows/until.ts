import { eventually } from '../support/eventually.ts';

/**
 * Calls `ask` until it returns neither false nor undefined. A call that throws is repeated, too.
 * @throws the last error after `limitMs`
 */
export function until<T>(
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  limitMs = 40_000,
): Promise<T> {
  return eventually(async () => {
    const answer = await ask();
    if (answer === undefined || answer === false) throw new Error(`not within ${limitMs} ms`);
    return answer;
  }, limitMs);
}
