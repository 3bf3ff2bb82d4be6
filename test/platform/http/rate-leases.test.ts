import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createRateLeases } from '../../../src/platform/http/rate-leases.ts';
import { createRateLimiter, createTokenBuckets } from '../../../src/platform/http/rate-limiter.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

let test: TestDatabase;
let statements = 0;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

const counting: TestDatabase['database']['pool']['query'] = ((...args: [string]) => {
  statements += 1;
  return test.database.pool.query(...args);
}) as never;

/** The limiter of one of two API processes. */
const limiter = (query = counting) =>
  createRateLimiter(() => 2, createTokenBuckets(), createRateLeases({ query }));

/** Makes requests at an even pace until the time, and counts those that were allowed. */
async function request(ask: () => unknown, perSecond: number, untilMs: number): Promise<number> {
  let made = 0;
  let allowed = 0;
  const began = performance.now();
  while (performance.now() < untilMs) {
    const due = Math.floor(((performance.now() - began) / 1_000) * perSecond);
    const answers: unknown[] = [];
    for (; made < due; made += 1) answers.push((async () => ask())());
    const settled = await Promise.allSettled(answers);
    allowed += settled.filter(({ status }) => status === 'fulfilled').length;
    await delay(5);
  }
  return allowed;
}

it.each([
  ['evenly', 300, 300],
  ['almost all by one', 580, 20],
  ['by one alone', 600, 0],
])(
  'admits the limit of all processes, with the requests received %s',
  async (name, one, other) => {
    const rate = 200;
    statements = 0;
    const began = performance.now();
    const until = began + 4_000;
    const ask = (each: ReturnType<typeof limiter>) => () => each.request(`key ${name}`, rate);
    const [first, second] = [limiter(), limiter()];
    const counts = await Promise.all([request(ask(first), one, until), request(ask(second), other, until)]);
    const seconds = (performance.now() - began) / 1_000;
    const admitted = (counts[0] ?? 0) + (counts[1] ?? 0);
    // The bucket is full at first, and fills at the rate.
    const limit = rate * 2 + rate * seconds;
    expect(admitted).toBeLessThan(limit * 1.1);
    expect(admitted).toBeGreaterThan(limit * 0.9);
    expect(statements).toBeLessThan(2 * 20 * seconds);
  },
  60_000,
);

it('returns headers for the limit of all processes', async () => {
  const [first, second] = [limiter(), limiter()];
  const header = async (each: typeof first) => {
    const headers = await each.request('key headers', 100);
    return [headers['RateLimit-Limit'], Number(headers['RateLimit-Remaining'])];
  };
  expect(await header(first)).toEqual(['200', 199]);
  expect(await header(first)).toEqual(['200', 198]);
  // The other process does not see what the first has used of its block.
  const [limit, remaining] = await header(second);
  expect(limit).toBe('200');
  expect(remaining).toBeGreaterThan(180);
  expect(remaining).toBeLessThan(199);
});

it('admits its share if the database does not answer', async () => {
  const down = limiter(() => Promise.reject(new Error('down')));
  const answers = Array.from({ length: 300 }, async () => down.request('key', 100));
  const settled = await Promise.allSettled(answers);
  const admitted = settled.filter(({ status }) => status === 'fulfilled').length;
  expect(admitted).toBeGreaterThanOrEqual(100);
  expect(admitted).toBeLessThan(200);
});
