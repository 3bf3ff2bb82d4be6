// Key look-ups share queries and lease keys, and a revocation is confirmed only after every lease has ended.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createApiKey, revokeApiKey } from '../../../src/features/api-keys/service.ts';
import { createKeyLookup, KEY_LEASE_MS } from '../../../src/platform/auth/key-lookup.ts';
import type { Queryable } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

it('looks up concurrent requests with a few queries', async () => {
  const { pool } = api.database;
  let queries = 0;
  const counting = {
    query(...given: Parameters<Queryable['query']>) {
      queries += 1;
      return pool.query(...given);
    },
  };
  const lookup = createKeyLookup(counting);
  const keys = [api.apiKey, api.other.apiKey, api.testApiKey];
  const found = await Promise.all(
    Array.from({ length: 300 }, (_, index) => lookup.find(keys[index % 3] ?? '')),
  );
  expect(found.map((key) => key?.accountId)).toEqual(
    Array.from({ length: 300 }, (_, index) => (index % 3 === 1 ? api.other.accountId : api.accountId)),
  );
  expect(queries).toBeLessThanOrEqual(2);
});

it('is unavailable while the database does not answer, and recovers', async () => {
  let broken = true;
  const flaky = {
    query(...given: Parameters<Queryable['query']>) {
      if (broken) return Promise.reject(new Error('the connection is gone'));
      return api.database.pool.query(...given);
    },
  };
  const lookup = createKeyLookup(flaky);
  await expect(lookup.find(api.apiKey)).rejects.toMatchObject({ code: 'unavailable' });
  broken = false;
  expect((await lookup.find(api.apiKey))?.brandId).toBe(api.brandId);
});

it('lets requests that arrive during a query share the next one', async () => {
  const asked: number[] = [];
  const answers: (() => void)[] = [];
  const slow = {
    async query(...given: Parameters<Queryable['query']>) {
      const { values = [] } = given[0] as { values?: unknown[][] };
      asked.push(values[0]?.length ?? 0);
      await new Promise<void>((resolve) => answers.push(resolve));
      return api.database.pool.query(...given);
    },
  };
  const lookup = createKeyLookup(slow);
  const tick = () => new Promise((resolve) => setImmediate(resolve));
  const first = lookup.find(api.apiKey);
  await tick();
  const later = [];
  for (const key of [api.apiKey, api.testApiKey, api.other.apiKey]) {
    later.push(lookup.find(key));
    await tick();
  }
  expect(asked).toEqual([1, 1]);
  answers[0]?.();
  await first;
  await tick();
  expect(asked).toEqual([1, 1, 2]);
  answers[1]?.();
  answers[2]?.();
  expect((await Promise.all(later)).map((key) => key?.accountId)).toEqual([
    api.accountId,
    api.accountId,
    api.other.accountId,
  ]);
});

it('accepts a key during its lease, and queries again afterwards', async () => {
  let nowMs = 0;
  let queries = 0;
  const counting = {
    query(...given: Parameters<Queryable['query']>) {
      queries += 1;
      return api.database.pool.query(...given);
    },
  };
  const lookup = createKeyLookup(counting, () => nowMs);
  const revoked = await createApiKey(api.database.pool, { accountId: api.accountId });
  const find = () => lookup.find(revoked.key);
  expect((await find())?.id).toBe(revoked.apiKey.id);
  await revokeApiKey(api.database.pool, revoked.apiKey.id);
  nowMs = KEY_LEASE_MS - 1;
  expect((await find())?.id).toBe(revoked.apiKey.id);
  expect(queries).toBe(1);
  nowMs = KEY_LEASE_MS;
  expect(await find()).toBeNull();
  expect(await find()).toBeNull();
  expect(queries).toBe(3);
});

it('confirms a revocation only after every lease of the key has ended', async () => {
  const lookup = createKeyLookup(api.database.pool);
  const revoked = await createApiKey(api.database.pool, { accountId: api.accountId });
  expect(await lookup.find(revoked.key)).not.toBeNull();
  await revokeApiKey(api.database.pool, revoked.apiKey.id);
  expect(await lookup.find(revoked.key)).toBeNull();
});
