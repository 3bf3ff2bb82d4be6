// A new password ends a user's sessions, and an account never loses its last owner.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  createAccount,
  pauseSending,
  resumeSending,
  setAccount,
} from '../../../src/features/accounts/service.ts';
import { insertSession } from '../../../src/platform/auth/session-rows.ts';
import { verifyPassword, addMember, findUserId, setPassword } from '../../../src/features/users/service.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

describe('users and their accounts', () => {
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

  async function hashOf(userId: number): Promise<string> {
    const { rows } = await made.database.pool.query<{ hash: string }>(
      'select password_hash as hash from users where id = $1',
      [userId],
    );
    return rows[0]?.hash ?? '';
  }

  it('stores a password as argon2id, and ends the sessions and forgets the networks when it changes', async () => {
    const before = await hashOf(ownerId);
    expect(before).toMatch(/^\$argon2id\$/);
    await made.database.pool.query(`insert into login_networks (user_id, network) values ($1, '192.0.2.1')`, [
      ownerId,
    ]);
    await insertSession(made.database.pool, {
      ...{ userId: ownerId, kind: 'token', secondFactor: false, network: null, userAgent: null },
    });
    await setPassword(made.database.pool, ownerId, 'correct horse');
    const after = await hashOf(ownerId);
    expect((await made.database.pool.query('select 1 from login_networks')).rowCount).toBe(0);
    expect((await made.database.pool.query('select 1 from sessions')).rowCount).toBe(0);
    expect(await verifyPassword(after, 'correct horse')).toBe(true);
    expect(await verifyPassword(after, 'correct hors')).toBe(false);
    expect(await verifyPassword('no hash', 'x')).toBe(false);
  });

  it('finds a user by address in any letter case', async () => {
    expect(await findUserId(made.database.pool, 'ANN@acme.test ')).toBe(ownerId);
    const again = await addMember(made.database.pool, { accountId, email: 'ann@ACME.test', role: 'owner' });
    expect(again).toMatchObject({ userId: ownerId, created: false, password: null });
  });

  it('keeps at least one owner per account', async () => {
    const demote = () => addMember(made.database.pool, { accountId, email: 'ann@acme.test', role: 'member' });
    await expect(demote()).rejects.toMatchObject({ code: 'conflict' });
    await addMember(made.database.pool, { accountId, email: 'ben@acme.test', role: 'owner' });
    expect(await demote()).toMatchObject({ role: 'member' });
  });

  it('keeps one owner if two lose the role at once', async () => {
    const set = (email: string, role: 'owner' | 'member') =>
      inTransaction(made.database.pool, (trx) => addMember(trx, { accountId, email, role }));
    for (let round = 0; round < 10; round++) {
      await set('ann@acme.test', 'owner');
      await set('ben@acme.test', 'owner');
      const both = await Promise.allSettled([set('ann@acme.test', 'member'), set('ben@acme.test', 'member')]);
      expect(both.map((each) => each.status).sort()).toEqual(['fulfilled', 'rejected']);
    }
  });

  it('changes only the given settings, and resets a setting to its default with null', async () => {
    const set = await setAccount(made.database.pool, accountId, { allowancePerDay: 500 });
    expect(set).toMatchObject({ name: 'Acme', tier: 'paid', allowance_per_day: 500 });
    expect(
      (await setAccount(made.database.pool, accountId, { allowancePerDay: null })).allowance_per_day,
    ).toBeNull();
    await expect(setAccount(made.database.pool, 999, { tier: 'free' })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('pauses and resumes sending, and keeps the time of the first pause', async () => {
    const paused = await pauseSending(made.database.pool, accountId, 'too many bounces');
    const again = await pauseSending(made.database.pool, accountId, 'complaints');
    expect(again.sending_paused_at).toEqual(paused.sending_paused_at);
    expect(again.sending_paused_reason).toBe('complaints');
    expect((await resumeSending(made.database.pool, accountId)).sending_paused_at).toBeNull();
  });
});
