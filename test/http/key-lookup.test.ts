import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { parseKey } from '../../src/api-keys/key.ts';
import { createKeyLookup } from '../../src/auth/key-lookup.ts';
import type { Queryable } from '../../src/db/queryable.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const digestOf = (key: string) => parseKey(key)?.digest ?? Buffer.alloc(32);

it('asks about requests that come together in a few queries', async () => {
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
    Array.from({ length: 300 }, (_, index) => lookup.find(digestOf(keys[index % 3] ?? ''))),
  );
  expect(found.map((key) => key?.accountId)).toEqual(
    Array.from({ length: 300 }, (_, index) => (index % 3 === 1 ? api.other.accountId : api.accountId)),
  );
  expect(queries).toBeLessThanOrEqual(2);
});

it('says unavailable where the database does not answer, and works again when it does', async () => {
  let broken = true;
  const flaky = {
    query(...given: Parameters<Queryable['query']>) {
      if (broken) return Promise.reject(new Error('the connection is gone'));
      return api.database.pool.query(...given);
    },
  };
  const lookup = createKeyLookup(flaky);
  await expect(lookup.find(digestOf(api.apiKey))).rejects.toMatchObject({ code: 'unavailable' });
  broken = false;
  expect((await lookup.find(digestOf(api.apiKey)))?.brandId).toBe(api.brandId);
});
