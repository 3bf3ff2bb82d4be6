import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAccount } from '../../../src/features/accounts/service.ts';
import { BrandModel } from '../../../src/features/brands/model.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

describe('models', () => {
  let made: TestDatabase;
  const tenants: { accountId: number; brandId: number }[] = [];
  beforeAll(async () => {
    made = await createTestDatabase();
    for (const name of ['Acme', 'Other']) {
      const { account, brandId } = await inTransaction(made.database.pool, (trx) =>
        createAccount(trx, { name, tier: 'free', owner: { email: `ann@${name}.test` } }),
      );
      tenants.push({ accountId: account.id, brandId });
    }
  });
  afterAll(() => made.drop());

  it('find what is the tenant’s and nothing else', async () => {
    const { pool } = made.database;
    const [mine, other] = tenants as [(typeof tenants)[0], (typeof tenants)[0]];
    expect(await BrandModel.findInAccount(mine, mine.brandId, pool)).toMatchObject({
      id: mine.brandId,
      account_id: mine.accountId,
      links: [],
      example_copy: null,
    });
    expect(await BrandModel.findInAccount(mine, other.brandId, pool)).toBeNull();
    expect(await BrandModel.ofAccount(mine, pool).where('id', other.brandId).patch({ tone: 'x' })).toBe(0);
  });

  it('are part of the transaction whose client they are given, and give the client back to it', async () => {
    const { pool } = made.database;
    const [tenant] = tenants as [(typeof tenants)[0]];
    const tone = async () => (await BrandModel.findInAccount(tenant, tenant.brandId, pool))?.tone;
    const failing = inTransaction(pool, async (trx) => {
      await BrandModel.ofAccount(tenant, trx).patch({ tone: 'warm' });
      expect((await BrandModel.findInAccount(tenant, tenant.brandId, trx))?.tone).toBe('warm');
      expect(await tone()).toBeNull();
      throw new Error('enough');
    });
    await expect(failing).rejects.toThrow('enough');
    expect(await tone()).toBeNull();
    expect(pool.idleCount).toBe(pool.totalCount);
  });

  it('fail with the database’s own error, which has no value of the statement in its message', async () => {
    const [tenant] = tenants as [(typeof tenants)[0]];
    const row = { account_id: 999_999, company_name: 'private words' };
    const error: unknown = await BrandModel.on(made.database.pool)
      .insert(row)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: '23503', severity: 'ERROR' });
    expect((error as Error).message).toContain('violates foreign key constraint');
    expect((error as Error).message).not.toContain('private words');
    expect(await BrandModel.findInAccount(tenant, tenant.brandId, made.database.pool)).not.toBeNull();
  });
});
