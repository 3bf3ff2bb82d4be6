import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findApiKey, revokeApiKey } from '../../src/features/api-keys/service.ts';
import { createLogin } from '../../src/features/users/service.ts';
import { ensureDemo, type Demo } from '../../src/local/demo.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let made: TestDatabase;
let first: Demo;
beforeAll(async () => {
  made = await createTestDatabase();
  first = await ensureDemo(made.database, null);
});
afterAll(() => made.drop());

async function expectGood(demo: Demo): Promise<void> {
  expect(await findApiKey(made.database.pool, demo.apiKey)).toMatchObject({
    account_id: demo.accountId,
    brand_id: demo.brandId,
  });
  const user = await createLogin(made.database.pool).logIn(demo.email, demo.password);
  expect(user.email).toBe(demo.email);
}

describe('the demo account', () => {
  it('has a key and a login that work', () => expectGood(first));

  it('is used again while its key works', async () => {
    expect(await ensureDemo(made.database, first)).toEqual(first);
  });

  it.each([
    ['where dev.json is gone', () => Promise.resolve(null)],
    [
      'where its key was revoked',
      async () => {
        const key = await findApiKey(made.database.pool, first.apiKey);
        await revokeApiKey(made.database.pool, key?.id ?? 0);
        return first;
      },
    ],
  ])('gets a new key and password %s, and stays the same account', async (_, kept) => {
    const again = await ensureDemo(made.database, await kept());
    expect(again).toMatchObject({ accountId: first.accountId, brandId: first.brandId, email: first.email });
    expect(again.apiKey).not.toBe(first.apiKey);
    expect(again.password).not.toBe(first.password);
    await expectGood(again);
  });

  it('is no other account, though dev.json names one of its numbers', async () => {
    const good = await ensureDemo(made.database, null);
    const foreign = { ...good, accountId: good.accountId + 1 };
    expect((await ensureDemo(made.database, foreign)).accountId).toBe(first.accountId);
  });
});
