import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isOptedOut } from '../../src/delivery/opt-outs.ts';
import { createOptOutRecording, recordReportedOptOuts } from '../../src/delivery/refused-opt-outs.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { insertAccount, queueEmails } from '../support/queued.ts';

const keyring = createKeyring('a secret of at least thirty-two characters');
let made: TestDatabase;
beforeAll(async () => {
  made = await createTestDatabase();
});
afterAll(() => made.drop());

describe('an opt-out that a provider knows of', () => {
  it('is recorded when the provider refuses a message', async () => {
    const { pool } = made.database;
    const { accountId, brandId } = await insertAccount(made.database);
    const logged: unknown[] = [];
    const log = { warn: (...args: unknown[]) => void logged.push(args) } as never;
    const refused = { messageId: 7, accountId, brandId, channel: 'sms', to: '+14155552671' } as const;
    await createOptOutRecording(pool, keyring, log)(refused);
    expect(await isOptedOut(pool, keyring, { brandId, channel: 'sms', address: refused.to })).toBe(true);
    const { rows } = await pool.query('select source, message_id from opt_outs where brand_id = $1', [
      brandId,
    ]);
    expect(rows).toEqual([{ source: 'provider', message_id: 7 }]);
    const broken = { query: () => Promise.reject(new Error('lost')) };
    await expect(createOptOutRecording(broken, keyring, log)(refused)).resolves.toBeUndefined();
    expect(logged).toHaveLength(1);
  });

  it('is recorded when the provider of a message reports it, and no other one', async () => {
    const { pool } = made.database;
    const account = await insertAccount(made.database);
    const ids = await queueEmails(made.database, account, 3);
    await pool.query(`update messages set provider = 'acme-mail' where id = any($1)`, [ids.slice(0, 2)]);
    await pool.query('update messages set to_address = null, to_key = null where id = $1', [ids[1]]);
    const optedOut = (n: number) =>
      isOptedOut(pool, keyring, { brandId: account.brandId, channel: 'email', address: `u${n}@example.com` });
    await recordReportedOptOuts(pool, keyring, 'other-mail', ids);
    await recordReportedOptOuts(pool, keyring, 'acme-mail', []);
    expect(await optedOut(0)).toBe(false);
    await recordReportedOptOuts(pool, keyring, 'acme-mail', ids);
    expect([await optedOut(0), await optedOut(1), await optedOut(2)]).toEqual([true, false, false]);
  });
});
