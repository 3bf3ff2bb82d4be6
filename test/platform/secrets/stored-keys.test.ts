// The keys of opt-outs are stored as earlier versions derive them, once, and only under secrets that open what is stored.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { migrations } from '../../../migrations/index.ts';
import { type Config, loadConfig } from '../../../src/config.ts';
import { isOptedOut, recordOptOut } from '../../../src/delivery/ledger/consent/opt-outs.ts';
import { upkeep } from '../../../src/features/upkeep.ts';
import { rollback } from '../../../src/platform/db/migrate.ts';
import { createKeyring, sealedBy } from '../../../src/platform/secrets/keyring.ts';
import { openKeyring, readKeyring } from '../../../src/platform/secrets/stored-keys.ts';
import { carillonCommand } from '../../support/commands.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertAccount } from '../../support/queued.ts';

const [FIRST, SECOND, THIRD] = ['first', 'second', 'third'].map(
  (name) => `${name} secret of at least thirty-two characters`,
) as [string, string, string];

type Secrets = [current: string, ...previous: string[]];

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 20 });
});
afterAll(() => test.drop());

const settings = (current: string, ...previous: string[]): Config =>
  loadConfig({ APP_SECRET: current, APP_SECRET_PREVIOUS: previous.join(',') });

const open = (current: string, ...previous: string[]) =>
  openKeyring(test.database.pool, settings(current, ...previous), upkeep);
const read = (current: string, ...previous: string[]) =>
  readKeyring(test.database.pool, settings(current, ...previous), () => Promise.resolve(upkeep));
const idOf = (secret: string) => createKeyring(secret).subkey('at-rest').id;
const derived = (secret: string) => createKeyring(secret).subkey('opt-out');

async function rows(): Promise<string[]> {
  const { rows: found } = await test.database.pool.query<{ keys_sealed: string }>(
    'select * from stored_keys',
  );
  return found.map((row) => row.keys_sealed);
}

describe('the keys of opt-outs', () => {
  beforeEach(() => test.database.pool.query('truncate stored_keys'));

  it('are those that earlier versions derive, and those of the previous secrets', async () => {
    const keyring = await open(FIRST, SECOND);
    expect(keyring.accepted('opt-out')).toEqual([derived(FIRST), derived(SECOND)]);
    expect((await open(FIRST)).accepted('opt-out')).toEqual([derived(FIRST), derived(SECOND)]);
    const [sealed = ''] = await rows();
    expect(sealed).not.toContain(derived(FIRST).key.toString('base64url'));
  });

  it('find the opt-outs of processes of the version before, which find ours', async () => {
    const { pool } = test.database;
    const { accountId, brandId } = await insertAccount(test.database);
    const optOut = (address: string) =>
      ({ accountId, brandId, channel: 'email', address, source: 'manual', messageId: null }) as const;
    const before = createKeyring(SECOND, [FIRST]);
    await open(FIRST);
    const now = await open(SECOND, FIRST);
    await recordOptOut(pool, before, optOut('ada@example.com'));
    await recordOptOut(pool, now, optOut('bob@example.com'));
    for (const keyring of [before, now, await open(SECOND)]) {
      for (const address of ['ada@example.com', 'bob@example.com']) {
        expect(await isOptedOut(pool, keyring, optOut(address))).toBe(true);
      }
    }
  });

  it('are the same for processes that start at the same time, in the middle of a change of the secret', async () => {
    await open(FIRST);
    const keyrings = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? open(SECOND, FIRST) : open(FIRST, SECOND))),
    );
    for (const keyring of keyrings) {
      expect(keyring.accepted('opt-out')).toEqual([derived(FIRST), derived(SECOND)]);
    }
    expect(await rows()).toHaveLength(1);
  });

  it('are stored once if the first processes start at the same time', async () => {
    const secrets = [FIRST, SECOND];
    const starts = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => open(secrets[n % 2] ?? '')));
    const [sealed = ''] = await rows();
    const first = secrets.findIndex((secret) => idOf(secret) === sealedBy(sealed));
    expect(starts.map(({ status }) => status === 'fulfilled')).toEqual(starts.map((_, n) => n % 2 === first));
  });

  it('are sealed with the new secret by a role, and left as they are by a command', async () => {
    await open(FIRST);
    const before = await rows();
    expect((await read(SECOND, FIRST)).subkey('opt-out')).toEqual(derived(FIRST));
    expect(await rows()).toEqual(before);
    await open(SECOND, FIRST);
    expect(sealedBy((await rows())[0] ?? '')).toBe(idOf(SECOND));
    await expect(open(FIRST)).rejects.toThrow(`last started with another one (${idOf(SECOND)})`);
    await expect(read(FIRST)).rejects.toThrow(`last started with another one (${idOf(SECOND)})`);
    const after = await rows();
    await open(SECOND, FIRST);
    expect(await rows()).toEqual(after);
  });

  it('are not replaced if the stored ones were damaged', async () => {
    await open(FIRST);
    await test.database.pool.query(`update stored_keys set keys_sealed = keys_sealed || 'AAAA'`);
    await expect(open(FIRST)).rejects.toThrow('stored_keys.keys_sealed of row opt-out cannot be opened');
  });
});

describe('on a database of the version before', () => {
  const variables = (...[current, ...previous]: Secrets) => ({
    DATABASE_URL: test.url,
    APP_SECRET: current,
    APP_SECRET_PREVIOUS: previous.join(','),
  });
  const addProvider = async (name: string, ...[current, ...previous]: Secrets): Promise<void> => {
    const added = await carillonCommand(
      ['provider', 'add', name, '--kind', 'smtp', '--set', 'url=smtp://127.0.0.1:25'],
      { ...variables(current, ...previous), EGRESS_ALLOW: '127.0.0.0/8' },
    );
    expect(added).toMatchObject({ code: 0 });
  };
  const migrateWith = (args: string[], ...secrets: Secrets) =>
    carillonCommand(['migrate', ...args], variables(...secrets));

  const index = migrations.findIndex(({ name }) => name === '0115_stored_keys');
  beforeEach(async () => {
    await rollback(test.url, migrations[index - 1]?.name);
    await test.database.pool.query('truncate providers cascade');
  });

  it('no role starts, and commands work, until it is migrated', async () => {
    await expect(open(FIRST)).rejects.toThrow('run carillon migrate');
    expect((await read(FIRST)).subkey('opt-out')).toEqual(derived(FIRST));
    expect(await migrateWith([], FIRST)).toMatchObject({ code: 0 });
    await expect(open(SECOND)).rejects.toThrow('APP_SECRET is not the secret of this database');
  });

  it('a secret that does not open what is stored is refused before anything is applied', async () => {
    await addProvider('acme', FIRST);
    const refused = await migrateWith([], SECOND);
    expect(refused).toMatchObject({ code: 1, output: expect.stringContaining(`(${idOf(FIRST)})`) });
    expect(refused.output).toMatch(
      /^carillon: APP_SECRET is not the secret of this database[^\n]* in providers; [^\n]*\n$/,
    );
    const { rows: tables } = await test.database.pool.query(`select to_regclass('stored_keys') as name`);
    expect(tables).toEqual([{ name: null }]);
    expect(await migrateWith([], SECOND, FIRST)).toMatchObject({ code: 0 });
    expect((await open(SECOND)).accepted('opt-out')).toEqual([derived(SECOND), derived(FIRST)]);
  });

  it('the secrets that are lost must be named', async () => {
    await addProvider('acme', FIRST);
    await addProvider('other', THIRD, FIRST);
    const some = await migrateWith(['--lost-secret', idOf(FIRST)], SECOND);
    expect(some).toMatchObject({
      code: 1,
      output: expect.stringContaining(`--lost-secret ${idOf(THIRD)}\n`),
    });
    const lost = ['--lost-secret', idOf(FIRST), '--lost-secret', idOf(THIRD)];
    expect(await migrateWith(lost, SECOND)).toMatchObject({ code: 0 });
    expect((await open(SECOND)).accepted('opt-out')).toEqual([derived(SECOND)]);
  });

  it('a secret that is lost is named by its id, beside those that are known', async () => {
    const wrong = await migrateWith(['--lost-secret', FIRST], SECOND);
    expect(wrong).toMatchObject({ code: 1, output: expect.stringContaining('--lost-secret') });
    const args = ['migrate', '--lost-secret', idOf(FIRST)];
    const without = await carillonCommand(args, { DATABASE_URL: test.url });
    expect(without).toMatchObject({ code: 1, output: 'carillon: missing settings: APP_SECRET\n' });
  });

  it('the migration needs no secret, and the first role stores the keys', async () => {
    const { code } = await carillonCommand(['migrate'], { DATABASE_URL: test.url });
    expect([code, await rows()]).toEqual([0, []]);
    await addProvider('acme', FIRST);
    await expect(open(SECOND)).rejects.toThrow(`--lost-secret ${idOf(FIRST)}`);
    expect(await rows()).toEqual([]);
    await open(FIRST);
    expect(await rows()).toHaveLength(1);
  });
});
