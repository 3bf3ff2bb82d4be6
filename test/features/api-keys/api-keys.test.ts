// An API key is stored only as a digest, and is valid until its own account revokes it.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAccount } from '../../../src/features/accounts/service.ts';
import {
  createApiKey,
  findApiKey,
  listApiKeys,
  revokeApiKey,
} from '../../../src/features/api-keys/service.ts';
import { generateKey, parseKey } from '../../../src/platform/auth/api-key.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

describe('the text of a key', () => {
  it('names the kind of key, and has 32 random bytes and a checksum', () => {
    expect(generateKey('live').key).toMatch(/^crl_live_[0-9A-Za-z]{49}$/);
    expect(generateKey('test').key).toMatch(/^crl_test_[0-9A-Za-z]{49}$/);
    expect(generateKey('send').key).toMatch(/^crl_send_[0-9A-Za-z]{49}$/);
    expect(generateKey('live').key).not.toBe(generateKey('live').key);
  });

  it('is refused without a database query if a character, the kind or the length is wrong', () => {
    const { key, digest } = generateKey('live');
    expect(parseKey(key)).toEqual({ kind: 'live', digest });
    const other = key.at(20) === 'a' ? 'b' : 'a';
    expect(parseKey(key.slice(0, 20) + other + key.slice(21))).toBeNull();
    for (const kind of ['test', 'send']) expect(parseKey(key.replace('live', kind))).toBeNull();
    expect(parseKey(`${key}0`)).toBeNull();
    expect(parseKey('')).toBeNull();
  });
});

describe('API keys', () => {
  let made: TestDatabase;
  let accountId: number;
  beforeAll(async () => {
    made = await createTestDatabase();
    const created = await inTransaction(made.database.pool, (trx) =>
      createAccount(trx, { name: 'Acme', owner: { email: 'Ann@acme.test' } }),
    );
    accountId = created.account.id;
  });
  afterAll(() => made.drop());

  it('are stored only as a digest', async () => {
    const { key } = await createApiKey(made.database.pool, { accountId, name: 'ci' });
    const { rows } = await made.database.pool.query<{ row: string }>(
      `select row_to_json(k)::text as row from api_keys k`,
    );
    expect(rows.map((found) => found.row).join()).not.toContain(key.slice(14));
  });

  it('are valid until their own account revokes them', async () => {
    const { apiKey, key } = await createApiKey(made.database.pool, {
      accountId,
      test: true,
      rateLimitPerSecond: 5,
    });
    expect(await findApiKey(made.database.pool, key)).toMatchObject({
      account_id: accountId,
      test: true,
      rate_limit_per_second: 5,
    });
    await expect(
      revokeApiKey(made.database.pool, apiKey.id, { accountId: accountId + 1 }),
    ).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(await findApiKey(made.database.pool, key)).not.toBeNull();
    await revokeApiKey(made.database.pool, apiKey.id, { accountId });
    expect(await findApiKey(made.database.pool, key)).toBeNull();
    expect((await listApiKeys(made.database.pool, { accountId }))[0]).toMatchObject({ id: apiKey.id });
  });

  it('cannot be created for an account without a brand', async () => {
    await expect(createApiKey(made.database.pool, { accountId: accountId + 1 })).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});
