import { eventually } from '../support/eventually.ts';

/**
 * Repeats a question until the answer is neither false nor undefined. An error counts as no answer.
 * @throws after `limitMs`: the last error, or an error of its own if there was no answer
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
