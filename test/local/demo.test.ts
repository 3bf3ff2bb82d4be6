// The demo account keeps its key while it works, and otherwise gets a new key and password.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findApiKey, revokeApiKey } from '../../src/features/api-keys/service.ts';
import { createLogin } from '../../src/features/sessions/login.ts';
import { verifyPassword } from '../../src/features/users/service.ts';
import { ensureDemo, type Demo } from '../../src/local/demo.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { TEST_SECRET } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let made: TestDatabase;
let first: Demo;
beforeAll(async () => {
  made = await createTestDatabase();
  first = await ensureDemo(made.database, null);
});
afterAll(() => made.drop());

async function expectWorking(demo: Demo): Promise<void> {
  expect(await findApiKey(made.database.pool, demo.apiKey)).toMatchObject({
    account_id: demo.accountId,
    brand_id: demo.brandId,
  });
  const deps = {
    pool: made.database.pool,
    keyring: createKeyring(TEST_SECRET),
    checkPassword: verifyPassword,
  };
  const { user } = await createLogin(deps, () => () => undefined).logIn({
    ...{ email: demo.email, password: demo.password, network: null },
  });
  expect(user).toMatchObject({ email: demo.email, admin: true });
}

describe('the demo account', () => {
  it('has a working key and login', () => expectWorking(first));

  it('stays as it is while its key works', async () => {
    expect(await ensureDemo(made.database, first)).toEqual(first);
  });

  it.each([
    ['if dev.json is gone', () => Promise.resolve(null)],
    [
      'if its key was revoked',
      async () => {
        const key = await findApiKey(made.database.pool, first.apiKey);
        await revokeApiKey(made.database.pool, key?.id ?? 0);
        return first;
      },
    ],
  ])('gets a new key and password %s, and remains the same account', async (_, kept) => {
    const again = await ensureDemo(made.database, await kept());
    expect(again).toMatchObject({ accountId: first.accountId, brandId: first.brandId, email: first.email });
    expect(again.apiKey).not.toBe(first.apiKey);
    expect(again.password).not.toBe(first.password);
    await expectWorking(again);
  });

  it('is not replaced by another account whose id dev.json contains', async () => {
    const demo = await ensureDemo(made.database, null);
    const foreign = { ...demo, accountId: demo.accountId + 1 };
    expect((await ensureDemo(made.database, foreign)).accountId).toBe(first.accountId);
  });
});
