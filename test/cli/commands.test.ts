import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findApiKey } from '../../src/api-keys/service.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { runProgram } from '../support/programs.ts';

interface Result {
  code: number | NodeJS.Signals;
  output: string;
}

let made: TestDatabase;
let home: string;
beforeAll(async () => {
  made = await createTestDatabase();
  home = mkdtempSync(join(tmpdir(), 'carillon-cli-'));
});
afterAll(async () => {
  await made.drop();
  rmSync(home, { recursive: true, force: true });
});

async function carillon(args: string[], settings: Record<string, string> = {}): Promise<Result> {
  const program = runProgram('src/main.ts', args, {
    DATABASE_URL: made.url,
    APP_SECRET: 'a secret of at least thirty-two characters',
    CARILLON_HOME: join(home, 'none'),
    ...settings,
  });
  return { code: await program.ended, output: program.output() };
}

async function json<T>(...args: string[]): Promise<T> {
  const { code, output } = await carillon([...args, '--json']);
  if (code !== 0) throw new Error(output);
  return JSON.parse(output) as T;
}

interface Created {
  account: { id: number; tier: string; sandboxMonthlyCap: number };
  owner: { password: string; email: string };
}

function createAccount(name: string): Promise<Created> {
  const owner = `${name.toLowerCase()}@acme.test`;
  return json<Created>(
    'account',
    'create',
    '--name',
    name,
    '--owner',
    owner,
    '--tier',
    'paid',
    '--sandbox-cap',
    '7',
  );
}

describe('carillon', () => {
  it('makes an account, changes it, pauses and resumes it', async () => {
    const { account, owner } = await createAccount('Ann');
    expect(account).toMatchObject({ tier: 'paid', sandboxMonthlyCap: 7 });
    expect(owner).toMatchObject({
      email: 'ann@acme.test',
      role: 'owner',
      password: expect.stringMatching(/^.{20}$/),
    });
    const id = String(account.id);
    expect(await json('account', 'set', id, '--tier', 'trusted', '--sandbox-cap', 'default')).toMatchObject({
      tier: 'trusted',
      sandboxMonthlyCap: null,
    });
    expect(await json('account', 'pause', id, '--reason', 'too many bounces')).toMatchObject({
      sendingPausedAt: expect.any(String),
      sendingPausedReason: 'too many bounces',
    });
    expect(await json('account', 'resume', id)).toMatchObject({ sendingPausedAt: null });
  });

  it('makes a key that works, lists it without its secret, and revokes it', async () => {
    const { account } = await createAccount('Ben');
    const id = String(account.id);
    const { key, api_key } = await json<{ key: string; api_key: { id: number } }>(
      ...['api-key', 'create', '--account', id, '--name', 'shop', '--test', '--rate-limit', '500'],
    );
    expect(await findApiKey(made.database.pool, key)).toMatchObject({ test: true, rateLimitPerSecond: 500 });
    const listed = await carillon(['api-key', 'list', '--account', id]);
    expect(listed.output).toContain('shop');
    expect(listed.output).not.toContain(key.slice(14));
    await json('api-key', 'revoke', String(api_key.id));
    expect(await findApiKey(made.database.pool, key)).toBeNull();
  });

  it('lets people in, with a password shown once', async () => {
    const { account } = await createAccount('Cas');
    const args = [
      'user',
      'add',
      '--account',
      String(account.id),
      '--email',
      'dee@acme.test',
      '--role',
      'admin',
    ];
    const first = await carillon(args);
    expect(first.output).toMatch(/role +admin\npassword +\S{20}\n/);
    expect((await carillon(args)).output).toMatch(/this user was known/);
  });

  it('shows the DNS records of its own domain, the same each time', async () => {
    const first = await json<{ name: string; value: string }[]>('dkim', 'show');
    expect(first.map((record) => record.name)).toEqual([
      'crl-rsa._domainkey.carillon.localhost',
      'crl-ed._domainkey.carillon.localhost',
    ]);
    expect(await json('dkim', 'show')).toEqual(first);
  });

  it('migrates a database that is up to date without harm', async () => {
    expect(await json('migrate')).toEqual({ applied: [] });
  });
});

describe('carillon says in one line what is wrong', () => {
  it.each([
    ['an unknown account', ['account', 'set', '999999', '--tier', 'paid'], 'carillon: account not found'],
    [
      'an account without that brand',
      ['api-key', 'create', '--account', '999999'],
      'carillon: brand not found',
    ],
    [
      'a choice that is none',
      ['account', 'set', '1', '--tier', 'gold'],
      'Allowed choices are free, paid, trusted',
    ],
    ['an id that is none', ['api-key', 'revoke', 'x'], 'It must be a whole number from 1'],
    [
      'a missing option',
      ['user', 'add', '--account', '1'],
      "required option '--email <address>' not specified",
    ],
    ['an unknown command', ['sart'], "unknown command 'sart'"],
    ['an unknown role', ['start', 'cook'], 'Allowed choices are api, worker, sender'],
    ['a reset of one role', ['start', 'api', '--reset'], '--reset is for a start of everything'],
  ])('%s', async (_, args, line) => {
    const { code, output } = await carillon(args);
    expect(code).toBe(1);
    expect(output).toContain(line);
    expect(output).not.toMatch(/\n +at /);
  });

  it('a database that is away', async () => {
    const { code, output } = await carillon(['account', 'resume', '1'], {
      DATABASE_URL: 'postgres://nobody:hunter2@127.0.0.1:9/carillon',
    });
    expect(code).toBe(1);
    expect(output).toMatch(/^carillon: the database does not answer \(ECONNREFUSED\)[^\n]*\n$/);
    expect(
      (await carillon(['migrate'], { DATABASE_URL: 'postgres://a:hunter2@127.0.0.1:9/c' })).output,
    ).toMatch(/^carillon: cannot use the database at 127.0.0.1:9 \(ECONNREFUSED\)[^\n]*\n$/);
  });

  it('no database at all', async () => {
    const { output } = await carillon(['migrate'], { DATABASE_URL: '' });
    expect(output).toMatch(/^carillon: no database: set DATABASE_URL[^\n]*\n$/);
  });

  it('a start without a way out for mail', async () => {
    const { code, output } = await carillon(['start'], { DATABASE_URL: '' });
    expect(code).toBe(1);
    expect(output).toMatch(/^carillon: no EMAIL_PROVIDER_URL: [^\n]*--dev[^\n]*\n$/);
  });

  it('every bad setting at once', async () => {
    const { output } = await carillon(['start', '--dev'], {
      PORT: 'x',
      POSTGRES_PORT: '70000',
      APP_SECRET: 'short',
    });
    for (const name of ['PORT', 'POSTGRES_PORT', 'APP_SECRET']) expect(output).toContain(`  ${name}: `);
  });
});

describe('carillon --help', () => {
  it.each([
    [[], 'carillon start --dev'],
    [['start'], 'EMAIL_PROVIDER_URL'],
    [['account', 'create'], 'Example:'],
    [['api-key', 'create'], '--rate-limit <n>'],
    [['dkim', 'show'], 'MAIL_DOMAIN'],
  ])('of %j has what is needed', async (command, text) => {
    const { code, output } = await carillon([...command, '--help'], { DATABASE_URL: '' });
    expect(code).toBe(0);
    expect(output).toContain(text);
  });
});
