// Code that runs side by side asks together, and one error ends all of it.
import { expect, it } from '@jest/globals';
import { Gathering } from '../../../../src/features/flows/run/gathering.ts';

/** Two kinds of questions that log what was asked together. */
function stage() {
  const gathering = new Gathering();
  const log: string[] = [];
  const kind = (name: string, rank: number) =>
    gathering.kind(rank, async (asked: readonly number[]) => {
      log.push(`${name} ${asked.join(',')}`);
      await Promise.resolve();
      return asked.map((n) => `${name}${n}`);
    });
  const late = kind('late', 2);
  const early = kind('early', 1);
  return { gathering, log, early, late };
}

it('answers questions of a kind together, the kinds in their order', async () => {
  const { gathering, log, early, late } = stage();
  const results = await gathering.all([
    async () => [await late(1), await early(1)],
    async () => [await early(2), await late(2)],
    async () => [await early(3), await early(4), await late(3)],
    () => Promise.resolve(['nothing']),
  ]);
  expect(results).toEqual([
    ['late1', 'early1'],
    ['early2', 'late2'],
    ['early3', 'early4', 'late3'],
    ['nothing'],
  ]);
  expect(log).toEqual(['early 2,3', 'early 4', 'late 1,2,3', 'early 1']);
});

it.each([
  ['an answer', 'unanswerable'],
  ['a piece', 'broken'],
])('ends all pieces with the error of %s, also those that wait for another kind', async (_, message) => {
  const { gathering, log, early, late } = stage();
  const ends: unknown[] = [];
  const refused = gathering.kind<number, number>(0, () => Promise.reject(new Error('unanswerable')));
  const noting = (ask: Promise<unknown>) =>
    ask.catch((error: Error) => {
      ends.push(error.message);
      throw error;
    });
  const all = gathering.all<unknown>([
    () => noting(refused(1)),
    () => noting(early(1)),
    () => noting(late(1)),
    () => (message === 'broken' ? Promise.reject(new Error(message)) : Promise.resolve()),
  ]);
  await expect(all).rejects.toThrow(message);
  expect([ends, log]).toEqual([[message, message, message], []]);
});

it('runs nothing without pieces', async () => {
  expect(await new Gathering().all([])).toEqual([]);
});
