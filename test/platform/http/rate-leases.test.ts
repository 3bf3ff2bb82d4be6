// API processes together admit the shared rate limit, and each admits its share without the database.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { AppError } from '../../../src/errors.ts';
import { createRateLeases } from '../../../src/platform/http/rate-leases.ts';
import { createRateLimiter } from '../../../src/platform/http/rate-limiter.ts';
import { type Database, openDatabase } from '../../../src/platform/db/database.ts';
import { createTokenBuckets } from '../../../src/platform/processes/token-buckets.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

const SECONDS = 4;
const STEP_MS = 5;

let test: TestDatabase;
/** Its `clock_timestamp()` is the time of the test. */
let clocked: Database;
let nowMs = 0;
let statements = 0;
beforeAll(async () => {
  test = await createTestDatabase();
  await test.database.pool.query(`
    create schema clock;
    create table clock.time as select to_timestamp(0) as now;
    create function clock.clock_timestamp() returns timestamptz language sql as 'select now from clock.time'`);
  const url = new URL(test.url);
  url.searchParams.set('options', '-c search_path=clock,public,pg_catalog');
  clocked = openDatabase({ url: url.href, poolMax: 2 });
});
afterAll(async () => {
  await clocked.close();
  await test.drop();
});

type Query = Database['pool']['query'];

const counting = (async (...args: [string]) => {
  statements += 1;
  await clocked.pool.query('update clock.time set now = to_timestamp($1)', [nowMs / 1_000]);
  return clocked.pool.query(...args);
}) as unknown as Query;

const now = () => nowMs;

/** The limiter of one of two API processes. */
const limiter = (query = counting) =>
  createRateLimiter(() => 2, createTokenBuckets(now), createRateLeases({ query }, now));

/** Makes the requests that an even pace has made due, and counts those that are allowed. */
function paced(ask: () => unknown, perSecond: number): () => Promise<number> {
  let made = 0;
  return async () => {
    const answers: unknown[] = [];
    for (; made < (nowMs / 1_000) * perSecond; made += 1) answers.push((async () => ask())());
    const settled = await Promise.allSettled(answers);
    return settled.filter(({ status }) => status === 'fulfilled').length;
  };
}

it.each([
  ['evenly', 300, 300],
  ['almost all by one', 580, 20],
  ['by one alone', 600, 0],
])('admits the limit of all processes, with the requests received %s', async (name, one, other) => {
  const rate = 200;
  statements = 0;
  const ask = (each: ReturnType<typeof limiter>) => () => each.request(`key ${name}`, rate);
  const processes = [paced(ask(limiter()), one), paced(ask(limiter()), other)];
  let admitted = 0;
  for (nowMs = 0; nowMs < SECONDS * 1_000; nowMs += STEP_MS) {
    for (const count of await Promise.all(processes.map((each) => each()))) admitted += count;
  }
  // The bucket is full at first, and fills at the rate.
  const limit = rate * 2 + rate * SECONDS;
  expect(admitted).toBeLessThanOrEqual(limit);
  expect(admitted).toBeGreaterThan(limit * 0.9);
  expect(statements).toBeLessThan(2 * 20 * SECONDS);
});

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

it('grants a request that counts as many all of its tokens or none', async () => {
  nowMs = 0;
  const [first, second] = [limiter(), limiter()];
  // The bucket of all processes has 200 tokens. A block of 10 goes to each process with its first request.
  await first.request('key many', 100);
  await second.request('key many', 100);
  const asked = await Promise.allSettled([
    first.request('key many', 100, 120),
    second.request('key many', 100, 120),
  ]);
  expect(asked.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  const [refused] = asked.flatMap((each) => (each.status === 'rejected' ? [each.reason as AppError] : []));
  expect(refused).toMatchObject({ code: 'rate_limited', headers: { 'Retry-After': '1' } });
  // The refused one has taken nothing: together with the blocks, 78 are left.
  await expect((async () => second.request('key many', 100, 60))()).resolves.toBeDefined();
  await expect((async () => second.request('key many', 100, 60))()).rejects.toMatchObject({
    code: 'rate_limited',
  });
});

it('uses the tokens of a block for a request that counts as many', async () => {
  nowMs = 0;
  const each = limiter();
  await each.request('key whole', 100);
  const headers = await each.request('key whole', 100, 199);
  expect(headers['RateLimit-Remaining']).toBe('0');
});

it('gives tokens back to all processes', async () => {
  nowMs = 0;
  const [first, second] = [limiter(), limiter()];
  await first.request('key back', 100, 200);
  await first.giveBack('key back', 200);
  await expect((async () => second.request('key back', 100, 200))()).resolves.toBeDefined();
});
