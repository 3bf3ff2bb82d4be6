// Operator commands never print a stored secret, and their errors name the bad option or setting.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { keepOperatorMail } from '../../src/delivery/wire/inbound/operator-mails.ts';
import { findApiKey } from '../../src/features/api-keys/service.ts';
import { resetPassword } from '../../src/features/users/resets.ts';
import { hashPassword, verifyPassword } from '../../src/features/users/service.ts';
import { carillonCommand } from '../support/commands.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

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

function carillon(args: string[], settings: Record<string, string> = {}, input?: string) {
  const all = {
    DATABASE_URL: made.url,
    APP_SECRET: 'a secret of at least thirty-two characters',
    CARILLON_HOME: join(home, 'none'),
    ...settings,
  };
  return carillonCommand(args, all, input);
}

describe('carillon mail', () => {
  it('prints the mails to the operator, without characters that steer the terminal', async () => {
    const head = Buffer.from('From: ann@example.net\r\nSubject: Hi\u001b[2J\r\n\r\nBye\u0007\r\n');
    await keepOperatorMail(made.database.pool, { mailbox: 'abuse', network: '192.0.2.1', head });
    const list = await carillon(['mail', 'list']);
    expect(list.output).toMatch(/^1 {2}\S+ {2}abuse@ {2}ann@example\.net {2}Hi\ufffd\[2J\n$/);
    const shown = await carillon(['mail', 'show', '1']);
    expect(shown.output).toBe('From: ann@example.net\nSubject: Hi\ufffd[2J\n\nBye\ufffd\n\n');
  });
});

async function json<T>(...args: string[]): Promise<T> {
  const { code, output } = await carillon([...args, '--json']);
  if (code !== 0) throw new Error(output);
  return JSON.parse(output) as T;
}

interface Created {
  account: { id: number; tier: string; sandbox_monthly_cap: number };
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
  it('creates, changes, pauses and resumes an account', async () => {
    const { account, owner } = await createAccount('Ann');
    expect(account).toMatchObject({ tier: 'paid', sandbox_monthly_cap: 7 });
    expect(owner).toMatchObject({
      email: 'ann@acme.test',
      role: 'owner',
      password: expect.stringMatching(/^.{20}$/),
    });
    const id = String(account.id);
    expect(await json('account', 'set', id, '--tier', 'trusted', '--sandbox-cap', 'default')).toMatchObject({
      tier: 'trusted',
      sandbox_monthly_cap: null,
    });
    expect(await json('account', 'pause', id, '--reason', 'too many bounces')).toMatchObject({
      sending_paused_at: expect.any(String),
      sending_paused_reason: 'too many bounces',
    });
    expect(await json('account', 'resume', id)).toMatchObject({ sending_paused_at: null });
  });

  it('changes every operator setting, and resets it to its default', async () => {
    const { account } = await createAccount('Eve');
    const id = String(account.id);
    const options =
      '--name Eva --approval pending --allowance 5 --spend-cap 900 --comped --outside-validation'.split(' ');
    expect(await json('account', 'set', id, ...options)).toMatchObject({
      name: 'Eva',
      tier: 'paid',
      approval_state: 'pending',
      allowance_per_day: 5,
      spend_cap_monthly_cents: 900,
      comped: true,
      outside_validation: true,
      sandbox_monthly_cap: 7,
    });
    const back = '--allowance default --spend-cap default --no-comped --no-outside-validation'.split(' ');
    expect(await json('account', 'set', id, ...back)).toMatchObject({
      name: 'Eva',
      approval_state: 'pending',
      allowance_per_day: null,
      spend_cap_monthly_cents: null,
      comped: false,
      outside_validation: false,
    });
    expect((await carillon(['account', 'set', id, '--allowance', '-1'])).code).toBe(1);
  });

  it('creates and lists keys of a given brand', async () => {
    const { account } = await createAccount('Flo');
    const { rows } = await made.database.pool.query<{ id: number }>(
      'insert into brands (account_id) values ($1) returning id',
      [account.id],
    );
    const id = String(account.id);
    const brand = String(rows[0]?.id);
    await json('api-key', 'create', '--account', id, '--name', 'first');
    await json('api-key', 'create', '--account', id, '--brand', brand, '--name', 'second');
    const named = async (...args: string[]) => {
      const keys = await json<{ name: string }[]>('api-key', 'list', '--account', id, ...args);
      return keys.map((key) => key.name);
    };
    expect(await named()).toEqual(['second', 'first']);
    expect(await named('--brand', brand)).toEqual(['second']);
    const foreign = await carillon(['api-key', 'create', '--account', '1', '--brand', brand]);
    expect(foreign.output).toBe('carillon: brand not found\n');
  });

  it('creates a working key, lists it without its secret, and revokes it', async () => {
    const { account } = await createAccount('Ben');
    const id = String(account.id);
    const { key, api_key } = await json<{ key: string; api_key: { id: number } }>(
      ...['api-key', 'create', '--account', id, '--name', 'shop', '--test', '--rate-limit', '500'],
    );
    expect(await findApiKey(made.database.pool, key)).toMatchObject({
      test: true,
      rate_limit_per_second: 500,
    });
    const listed = await carillon(['api-key', 'list', '--account', id]);
    expect(listed.output).toMatch(/ active {2}shop\n/);
    expect(listed.output).not.toContain(key.slice(14));
    await json('api-key', 'revoke', String(api_key.id));
    expect(await findApiKey(made.database.pool, key)).toBeNull();
  });

  it('creates a key that can only send, and revokes it', async () => {
    const { account } = await createAccount('Kim');
    const args = ['api-key', 'create', '--account', String(account.id), '--send-only'];
    const { key, api_key } = await json<{ key: string; api_key: { id: number; scopes: string[] } }>(...args);
    expect([key.slice(0, 9), api_key.scopes]).toEqual(['crl_send_', ['send']]);
    expect(await findApiKey(made.database.pool, key)).toMatchObject({ id: api_key.id, scopes: ['send'] });
    const refused = await carillon([...args, '--test']);
    expect(refused.output).toContain("option '--send-only' cannot be used with option '--test'");
    await json('api-key', 'revoke', String(api_key.id));
    expect(await findApiKey(made.database.pool, key)).toBeNull();
  });

  it('adds a user, and shows the new password once', async () => {
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
    expect((await carillon(args)).output).toMatch(/this user already existed/);
  });

  it('sets the mobile number of a user, and shows who operates the service', async () => {
    const { account } = await createAccount('Ida');
    const add = ['user', 'add', '--account', String(account.id), '--email', 'joy@acme.test'];
    const added = await json<object>(...add, '--admin', '--mobile', '(415) 555-0123', '--country-code', 'us');
    expect(added).toMatchObject({ admin: true, mobile: '+14155550123', country_code: 'US', created: true });
    // Without these options, a known user keeps theirs.
    expect(await json<object>(...add)).toMatchObject({ admin: true, mobile: '+14155550123', created: false });
    const set = (...args: string[]) => json<object>('user', 'set', 'JOY@acme.test', ...args);
    expect(await set('--no-admin', '--first-name', 'Ida')).toMatchObject({
      ...{ email: 'joy@acme.test', first_name: 'Ida', admin: false, mobile: '+14155550123' },
    });
    expect(await set('--mobile', 'none')).toMatchObject({ first_name: 'Ida', mobile: '' });
    const bad = await carillon(['user', 'set', 'joy@acme.test', '--mobile', '+1415']);
    expect([bad.code, bad.output]).toEqual([
      1,
      'carillon: mobile must be a phone number in E.164 form, such as +14155550123\n',
    ]);
    const nobody = await carillon(['user', 'set', 'nobody@acme.test', '--admin']);
    expect(nobody.output).toBe('carillon: there is no user with the address nobody@acme.test\n');
  });

  it('reads a password from standard input, refuses a short one, and never prints it', async () => {
    const { account } = await createAccount('Gus');
    const args = ['user', 'add', '--account', String(account.id), '--email', 'hal@acme.test'];
    const short = await carillon([...args, '--password-stdin'], {}, 'seven77\n');
    expect(short.output).toBe('carillon: the password must have at least 8 characters\n');
    const good = await carillon([...args, '--password-stdin'], {}, 'correct horse\n');
    expect(good.output).toMatch(/role +member\npassword +\(as given\)\n/);
    const { rows } = await made.database.pool.query<{ password_hash: string }>(
      `select password_hash from users where email_key = 'hal@acme.test'`,
    );
    expect(await verifyPassword(rows[0]?.password_hash ?? '', 'correct horse')).toBe(true);
  });

  it('prints a link for a new password, which works once', async () => {
    const { account } = await createAccount('Lin');
    await carillon(['user', 'add', '--account', String(account.id), '--email', 'lin@acme.test']);
    const { link } = await json<{ link: string }>('user', 'reset-link', 'LIN@acme.test');
    expect(link).toMatch(/^\/console\/reset\/[\w-]{43}$/);
    const printed = await carillon(['user', 'reset-link', 'lin@acme.test'], {
      PUBLIC_URL: 'https://m.test/',
    });
    expect(printed.output).toMatch(/link .* {2}https:\/\/m\.test\/console\/reset\/[\w-]{43}\n/);
    await resetPassword(
      { pool: made.database.pool, hashPassword },
      link.split('/').at(-1) ?? '',
      'a new password',
    );
    const { rows } = await made.database.pool.query<{ password_hash: string }>(
      `select password_hash from users where email_key = 'lin@acme.test'`,
    );
    expect(await verifyPassword(rows[0]?.password_hash ?? '', 'a new password')).toBe(true);
    const nobody = await carillon(['user', 'reset-link', 'nobody@acme.test']);
    expect([nobody.code, nobody.output]).toEqual([
      1,
      'carillon: there is no user with the address nobody@acme.test\n',
    ]);
  });

  it('shows the same DNS records of its own domain each time', async () => {
    const first = await json<{ name: string; value: string }[]>('dkim', 'show');
    expect(first.map((record) => record.name)).toEqual([
      'crl-rsa._domainkey.carillon.localhost',
      'crl-ed._domainkey.carillon.localhost',
    ]);
    expect(await json('dkim', 'show')).toEqual(first);
  });

  it('applies nothing to a database that is up to date', async () => {
    expect(await json('migrate')).toEqual({ applied: [], functions: [] });
  });
});

describe('an error message of carillon', () => {
  it.each([
    ['an unknown account', ['account', 'set', '999999', '--tier', 'paid'], 'carillon: account not found'],
    ['a missing brand', ['api-key', 'create', '--account', '999999'], 'carillon: brand not found'],
    ['a missing mail', ['mail', 'show', '999999'], 'carillon: there is no mail 999999'],
    ['an unknown tier', ['account', 'set', '1', '--tier', 'gold'], 'Allowed choices are free, paid, trusted'],
    ['an invalid id', ['api-key', 'revoke', 'x'], 'It must be a whole number, 1 or more'],
    [
      'a missing option',
      ['user', 'add', '--account', '1'],
      "required option '--email <address>' not specified",
    ],
    [
      'an unknown user role',
      ['user', 'add', '--account', '1', '--email', 'a@b.test', '--role', 'boss'],
      'Allowed choices are owner, admin, member',
    ],
    [
      'an invisible character in the address of a new user',
      ['user', 'add', '--account', '1', '--email', 'ann\u200d@b.test', '--role', 'admin'],
      'It must not contain the invisible character U+200D',
    ],
    [
      'a letter that looks like another in the address of an owner',
      ['account', 'create', '--name', 'A', '--owner', '\u212aelvin@b.test'],
      'It must not contain U+212A',
    ],
    ['an unknown command', ['sart'], "unknown command 'sart'"],
    ['an unknown role', ['start', 'cook'], 'Allowed choices are api, worker, sender, mail, submission'],
    ['--reset with one role', ['start', 'api', '--reset'], '--reset works only for a start of all roles'],
  ])('names %s', async (_, args, line) => {
    const { code, output } = await carillon(args);
    expect(code).toBe(1);
    expect(output).toContain(line);
    expect(output).not.toMatch(/\n +at /);
  });

  it('says that the database is unavailable, without its password', async () => {
    const { code, output } = await carillon(['account', 'resume', '1'], {
      DATABASE_URL: 'postgres://nobody:hunter2@127.0.0.1:9/carillon',
    });
    expect(code).toBe(1);
    expect(output).toMatch(/^carillon: the database at 127.0.0.1:9 is unavailable \(ECONNREFUSED\)[^\n]*\n$/);
    expect(
      (await carillon(['migrate'], { DATABASE_URL: 'postgres://a:hunter2@127.0.0.1:9/c' })).output,
    ).toMatch(/^carillon: the database at 127.0.0.1:9 is unavailable \(ECONNREFUSED\)[^\n]*\n$/);
  });

  it('says how to set a missing database', async () => {
    const { output } = await carillon(['migrate'], { DATABASE_URL: '' });
    expect(output).toMatch(/^carillon: no database: set DATABASE_URL[^\n]*\n$/);
  });

  it('says how to set a missing email provider', async () => {
    const { code, output } = await carillon(['start'], { DATABASE_URL: '' });
    expect(code).toBe(1);
    expect(output).toMatch(/^carillon: no EMAIL_PROVIDER_URL: [^\n]*--dev[^\n]*\n$/);
  });

  it('lists every bad setting', async () => {
    const { output } = await carillon(['start', '--dev'], {
      PORT: 'x',
      POSTGRES_PORT: '70000',
      APP_SECRET: 'short',
    });
    expect(output.split('\n')).toEqual([
      'carillon: bad settings:',
      '  PORT: must be a number',
      '  POSTGRES_PORT: must be at most 65535',
      '  APP_SECRET: must be at least 32 characters',
      '',
    ]);
  });
});

describe('carillon --help', () => {
  it.each([
    [[], 'carillon start --dev'],
    [['start'], 'EMAIL_PROVIDER_URL'],
    [['account', 'create'], 'Example:'],
    [['api-key', 'create'], '--rate-limit <n>'],
    [['dkim', 'show'], 'MAIL_DOMAIN'],
  ])('of %j shows %s', async (command, text) => {
    const { code, output } = await carillon([...command, '--help'], { DATABASE_URL: '' });
    expect(code).toBe(0);
    expect(output).toContain(text);
  });
});
