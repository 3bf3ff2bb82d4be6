// Models read and change only the tenant's rows, and their errors contain no values of the statement.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { raw } from 'objection';
import { createAccount } from '../../../src/features/accounts/service.ts';
import { BrandModel } from '../../../src/features/brands/model.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

describe('a model', () => {
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

  it('reads and changes only rows of the tenant', async () => {
    const { pool } = made.database;
    const [mine, other] = tenants as [(typeof tenants)[0], (typeof tenants)[0]];
    expect(await BrandModel.findInAccount(pool, mine, mine.brandId)).toMatchObject({
      id: mine.brandId,
      account_id: mine.accountId,
      links: [],
      example_copy: null,
    });
    expect(await BrandModel.findInAccount(pool, mine, other.brandId)).toBeNull();
    expect(await BrandModel.ofAccount(pool, mine).where('id', other.brandId).patch({ tone: 'x' })).toBe(0);
  });

  it('refuses an expression for a column of type jsonb, which would be stored as JSON', async () => {
    const { pool } = made.database;
    const [tenant] = tenants as [(typeof tenants)[0]];
    const links = async () => (await BrandModel.findInAccount(pool, tenant, tenant.brandId))?.links;
    const change = async () => BrandModel.ofAccount(pool, tenant).patch({ links: raw(`links || '[1]'`) });
    await expect(change()).rejects.toThrow('links: jsonb columns take values only');
    expect(await links()).toEqual([]);
    const lookalike = [
      { url: 'https://a.test', title: '? ?? :x', icon: '', isObjectionRawBuilder: true, _sql: 'now()' },
    ];
    await BrandModel.ofAccount(pool, tenant).patch({ links: lookalike });
    expect(await links()).toEqual(lookalike);
    await BrandModel.ofAccount(pool, tenant).patch({ links: [] });
  });

  it('runs in the transaction of the given client, and leaves the client with the caller', async () => {
    const { pool } = made.database;
    const [tenant] = tenants as [(typeof tenants)[0]];
    const tone = async () => (await BrandModel.findInAccount(pool, tenant, tenant.brandId))?.tone;
    const failing = inTransaction(pool, async (trx) => {
      await BrandModel.ofAccount(trx, tenant).patch({ tone: 'warm' });
      expect((await BrandModel.findInAccount(trx, tenant, tenant.brandId))?.tone).toBe('warm');
      expect(await tone()).toBeNull();
      throw new Error('enough');
    });
    await expect(failing).rejects.toThrow('enough');
    expect(await tone()).toBeNull();
    expect(pool.idleCount).toBe(pool.totalCount);
  });

  it('fails with the database’s own error, whose message contains no values of the statement', async () => {
    const [tenant] = tenants as [(typeof tenants)[0]];
    const row = { account_id: 999_999, company_name: 'private words' };
    const error: unknown = await BrandModel.on(made.database.pool)
      .insert(row)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: '23503', severity: 'ERROR' });
    expect((error as Error).message).toContain('violates foreign key constraint');
    expect((error as Error).message).not.toContain('private words');
    expect(await BrandModel.findInAccount(made.database.pool, tenant, tenant.brandId)).not.toBeNull();
  });
});
