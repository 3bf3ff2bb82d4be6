// Named providers store their settings encrypted, and errors never show the value of a setting.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  addProvider,
  changeProviderSettings,
  findProvider,
  findProviderByCallback,
  findProviderRow,
  listProviderRows,
  openProvider,
  parseProviderSettings,
  requireProviderKind,
} from '../../../../src/delivery/wire/providers/named.ts';
import { providerKinds } from '../../../../src/delivery/wire/providers/index.ts';
import { createKeyring } from '../../../../src/platform/secrets/keyring.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';

const keyring = createKeyring('a secret of at least thirty-two characters');
const smtp = requireProviderKind('smtp');

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

const add = (name: string, url = 'smtp://ann:hunter2@relay.test') =>
  addProvider(test.database.pool, keyring, { name, kind: smtp, settings: { url } });

describe('named providers', () => {
  it('are found by name, id and callback token, with their settings', async () => {
    const { pool } = test.database;
    const added = await add('acme');
    expect(await findProvider(pool, keyring, 'acme')).toEqual(added);
    expect(await findProvider(pool, keyring, added.id)).toEqual(added);
    expect(await findProviderByCallback(pool, keyring, 'smtp', added.callbackToken)).toEqual(added);
    expect(added).toMatchObject({ channel: 'email', settings: { url: 'smtp://ann:hunter2@relay.test' } });
    expect(await findProvider(pool, keyring, 'other')).toBeNull();
  });

  it('are not found by the token of another provider, of another kind, or by a token of any length', async () => {
    const { pool } = test.database;
    const { callbackToken } = await add('tokens');
    for (const [kind, token] of [
      ['ses', callbackToken],
      ['smtp', `${callbackToken}x`],
      ['smtp', ''],
      ['smtp', 'x'.repeat(100_000)],
    ] as const) {
      expect(await findProviderByCallback(pool, keyring, kind, token)).toBeNull();
    }
  });

  it('store neither credentials nor tokens in the clear', async () => {
    const { callbackToken } = await add('sealed');
    const { rows } = await test.database.pool.query<{ row: string }>(
      `select providers::text as row from providers where name = 'sealed'`,
    );
    expect(rows[0]?.row).not.toContain('hunter2');
    expect(rows[0]?.row).not.toContain(callbackToken);
  });

  it('cannot be opened with the sealed settings of another provider', async () => {
    const { pool } = test.database;
    await add('one');
    await add('two');
    await pool.query(
      `update providers set settings_sealed = (select settings_sealed from providers where name = 'one') where name = 'two'`,
    );
    await expect(findProvider(pool, keyring, 'two')).rejects.toThrow(
      'provider two: providers.settings_sealed',
    );
  });

  it('report which setting is wrong, but never its value', async () => {
    await expect(add('Acme')).rejects.toThrow('name must have 1 to 63 lower-case letters');
    for (const name of ['smtp', 'capture', 'default', 'none'])
      await expect(add(name)).rejects.toThrow('name is reserved');
    await expect(add('bad', 'https://ann:hunter2@relay.test')).rejects.toThrow(
      /^url must be a URL such as smtp:[^\n]*$/,
    );
    const given = { url: 'smtp://relay.test', colour: 'red', connections: 'many' };
    expect(() => parseProviderSettings(smtp, given)).toThrow(
      expect.objectContaining({
        validationErrors: {
          colour: ['is not a setting of this kind'],
          connections: ['must be a number'],
        },
      }),
    );
    expect(() => requireProviderKind('pigeon')).toThrow('kind must be one of: ');
    await add('taken');
    await expect(add('taken')).rejects.toMatchObject({ code: 'conflict' });
  });

  it('are listed even if the settings of one cannot be read', async () => {
    const { pool } = test.database;
    const other = createKeyring('another secret of at least thirty-two characters');
    await addProvider(pool, other, { name: 'foreign', kind: smtp, settings: { url: 'smtp://relay.test' } });
    expect((await listProviderRows(pool)).map(({ name }) => name)).toContain('foreign');
    const row = await findProviderRow(pool, 'foreign');
    expect(() => row && openProvider(row, keyring)).toThrow('another APP_SECRET');
  });

  it('change their settings and keep their callback token', async () => {
    const { pool } = test.database;
    const before = await add('changed');
    await pool.query(`update providers set updated_at = now() - interval '1 hour' where id = $1`, [
      before.id,
    ]);
    await changeProviderSettings(pool, keyring, before, { url: 'smtp://new.test', connections: '3' });
    const after = await findProvider(pool, keyring, 'changed');
    expect(after).toMatchObject({
      settings: { url: 'smtp://new.test', connections: 3 },
      callbackToken: before.callbackToken,
    });
    expect(after?.updatedAt.getTime()).toBeGreaterThanOrEqual(before.updatedAt.getTime());
  });
});

describe('the kinds of named providers', () => {
  it('have unique names, and only settings as secrets', () => {
    const names = providerKinds.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { settings, secrets } of providerKinds) {
      const { shape } = settings as unknown as { shape: Record<string, unknown> };
      expect(Object.keys(shape)).toEqual(expect.arrayContaining([...secrets]));
    }
  });
});
