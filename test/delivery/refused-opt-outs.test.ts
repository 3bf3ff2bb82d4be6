import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isOptedOut } from '../../src/delivery/opt-outs.ts';
import { createOptOutRecording } from '../../src/delivery/refused-opt-outs.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { insertAccount } from '../support/queued.ts';

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
});
