import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  createAccount,
  pauseSending,
  resumeSending,
  setAccount,
} from '../../../src/features/accounts/service.ts';
import { verifyPassword, addMember, findUserId, setPassword } from '../../../src/features/users/service.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

describe('accounts and their people', () => {
  let made: TestDatabase;
  let accountId: number;
  let ownerId: number;
  beforeAll(async () => {
    made = await createTestDatabase();
    const created = await inTransaction(made.database.pool, (trx) =>
      createAccount(trx, { name: 'Acme', tier: 'paid', owner: { email: 'Ann@acme.test' } }),
    );
    accountId = created.account.id;
    ownerId = created.owner.userId;
  });
  afterAll(() => made.drop());

  async function hashOf(userId: number): Promise<{ hash: string; version: number }> {
    const { rows } = await made.database.pool.query<{ hash: string; version: number }>(
      'select password_hash as hash, session_version as version from users where id = $1',
      [userId],
    );
    return rows[0] as { hash: string; version: number };
  }

  it('keep passwords as argon2id; a new one ends the sessions', async () => {
    const before = await hashOf(ownerId);
    expect(before.hash).toMatch(/^\$argon2id\$/);
    await setPassword(made.database.pool, ownerId, 'correct horse');
    const after = await hashOf(ownerId);
    expect(after.version).toBe(before.version + 1);
    expect(await verifyPassword(after.hash, 'correct horse')).toBe(true);
    expect(await verifyPassword(after.hash, 'correct hors')).toBe(false);
    expect(await verifyPassword('no hash', 'x')).toBe(false);
  });

  it('know a user by address in any letter case', async () => {
    expect(await findUserId(made.database.pool, 'ANN@acme.test ')).toBe(ownerId);
    const again = await addMember(made.database.pool, { accountId, email: 'ann@ACME.test', role: 'owner' });
    expect(again).toMatchObject({ userId: ownerId, created: false, password: null });
  });

  it('keep at least one owner', async () => {
    const demote = () => addMember(made.database.pool, { accountId, email: 'ann@acme.test', role: 'member' });
    await expect(demote()).rejects.toMatchObject({ code: 'conflict' });
    await addMember(made.database.pool, { accountId, email: 'ben@acme.test', role: 'owner' });
    expect(await demote()).toMatchObject({ role: 'member' });
  });

  it('keep at least one owner where two lose the role at once', async () => {
    const set = (email: string, role: 'owner' | 'member') =>
      inTransaction(made.database.pool, (trx) => addMember(trx, { accountId, email, role }));
    for (let round = 0; round < 10; round++) {
      await set('ann@acme.test', 'owner');
      await set('ben@acme.test', 'owner');
      const both = await Promise.allSettled([set('ann@acme.test', 'member'), set('ben@acme.test', 'member')]);
      expect(both.map((each) => each.status).sort()).toEqual(['fulfilled', 'rejected']);
    }
  });

  it('change only what is given; null gives a setting back to its default', async () => {
    const set = await setAccount(made.database.pool, accountId, { allowancePerDay: 500 });
    expect(set).toMatchObject({ name: 'Acme', tier: 'paid', allowancePerDay: 500 });
    expect(
      (await setAccount(made.database.pool, accountId, { allowancePerDay: null })).allowancePerDay,
    ).toBeNull();
    await expect(setAccount(made.database.pool, 999, { tier: 'free' })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('pause and resume sending; a second pause keeps the first time', async () => {
    const paused = await pauseSending(made.database.pool, accountId, 'too many bounces');
    const again = await pauseSending(made.database.pool, accountId, 'complaints');
    expect(again.sendingPausedAt).toEqual(paused.sendingPausedAt);
    expect(again.sendingPausedReason).toBe('complaints');
    expect((await resumeSending(made.database.pool, accountId)).sendingPausedAt).toBeNull();
  });
});
