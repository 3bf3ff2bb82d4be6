import { eventually } from '../support/eventually.ts';

/**
 * Ask until the answer is neither false nor undefined; an error counts as no answer.
 * @throws the last error, or that there was no answer, after `limitMs`
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
