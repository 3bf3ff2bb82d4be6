// Login does not reveal which addresses exist, and limits failures so that strangers cannot lock a user out.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { createLogin } from '../../../src/features/sessions/login.ts';
import { sessionsUpkeep } from '../../../src/features/sessions/upkeep.ts';
import { createPasswordChecks, verifyPassword } from '../../../src/features/users/service.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { startTestApi, TEST_PASSWORD, TEST_SECRET, type TestApi } from '../../support/api.ts';
import { runTask } from '../../support/housekeeping.ts';

describe('POST /v1/login', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi();
  });
  afterAll(() => api.close());

  const logIn = (user: unknown) => api.request('POST', '/v1/login', { token: null, body: { user } });

  it('responds the same to a wrong password and to an unknown address', async () => {
    const wrong = await logIn({ email: api.email, password: 'wrong' });
    const unknown = await logIn({ email: 'nobody@acme.test', password: 'wrong' });
    expect(wrong.status).toBe(401);
    expect(wrong.body).toEqual({
      error: true,
      code: 'unauthorized',
      message: 'wrong email or password',
      validation_errors: {},
    });
    expect(unknown.status).toBe(401);
    expect(unknown.body).toEqual(wrong.body);
  });

  it('does the same work for an unknown address as for a wrong password', async () => {
    const { pool } = api.database;
    let work: string[] = [];
    const watched = new Proxy(pool, {
      get(target, name) {
        if (name !== 'query') return Reflect.get(target, name) as unknown;
        return (statement: string | pg.QueryConfig, values?: unknown[]) => {
          work.push(typeof statement === 'string' ? statement : statement.text);
          return target.query(statement, values);
        };
      },
    });
    const checkPassword = (hash: string, password: string) => {
      // The parameters decide how long a check takes.
      work.push(hash.split('$').slice(0, 4).join('$'));
      return verifyPassword(hash, password);
    };
    const deps = { pool: watched, keyring: createKeyring(TEST_SECRET), checkPassword };
    const login = createLogin(deps, () => () => undefined);
    const workOf = async (email: string) => {
      work = [];
      const attempt = { email, password: 'wrong', network: '192.0.2.1' };
      await expect(login.logIn(attempt)).rejects.toMatchObject({ code: 'unauthorized' });
      return work;
    };
    const known = await workOf(api.email);
    expect(known).toEqual([expect.stringContaining('from "users"'), expect.stringContaining('$argon2id$')]);
    expect(await workOf('nobody@acme.test')).toEqual(known);
  });

  it('names each missing, mistyped and unknown field by its path', async () => {
    const answer = await logIn({ emial: 'x', password: 1 });
    expect(answer.status).toBe(422);
    expect(answer.body.validation_errors).toEqual({
      'user.email': ['is required'],
      'user.emial': ['is not a known field; did you mean email?'],
      'user.password': ['must be a string'],
    });
  });

  it('returns the user and a session token', async () => {
    const answer = await logIn({ email: api.email.toUpperCase(), password: TEST_PASSWORD });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      id: api.userId,
      first_name: 'Olive',
      last_name: 'Owner',
      email: api.email,
      mobile: '',
      country_code: '',
      admin: false,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: expect.any(String),
    });
    expect(answer.headers.get('authorization')).toMatch(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/);
  });

  it('allows ten failures a minute for an email address from one network', async () => {
    // Many more than ten, because the count falls with time on a slow machine.
    const attempts = Array.from({ length: 40 }, () =>
      logIn({ email: 'victim@acme.test', password: 'guess' }),
    );
    const answers = await Promise.all(attempts);
    const refused = answers.filter(({ status }) => status !== 401);
    expect(answers.length - refused.length).toBeGreaterThanOrEqual(10);
    expect(new Set(refused.map(({ status, body }) => `${status} ${String(body.code)}`))).toEqual(
      new Set(['429 rate_limited']),
    );
    const last = refused.at(-1);
    expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe('passwords', () => {
  it('are checked two at a time, with at most fifty waiting', async () => {
    const { checkPassword } = createPasswordChecks();
    const check = (hash: string, password: string) => checkPassword(hash, password, 'one network');
    const results = await Promise.allSettled(Array.from({ length: 60 }, () => check('no hash', 'guess')));
    const refused = results.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(8);
    expect(refused[0]).toMatchObject({ reason: { code: 'unavailable', headers: { 'Retry-After': '1' } } });
    expect(await check('no hash', 'guess')).toBe(false);
  });

  it('are hashed at the same places, and who asks too often does not hold up others', async () => {
    const { checkPassword, hashPassword } = createPasswordChecks();
    const ended: string[] = [];
    const flood = Array.from({ length: 60 }, async () => {
      await hashPassword('a new password', 'one link');
      ended.push('flood');
    });
    const other = checkPassword('no hash', 'guess', 'another network').then(() => ended.push('other'));
    const results = await Promise.allSettled([...flood, other]);
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(8);
    expect(ended.indexOf('other')).toBeLessThan(5);
  });
});

describe('failed logins of strangers', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi({ env: { TRUSTED_PROXIES: '127.0.0.1/32' } });
  });
  afterAll(() => api.close());

  const pool = () => api.database.pool;
  /** The statuses of concurrent logins from an address. */
  async function statuses(
    email: string,
    password: string,
    address: string,
    count: number,
  ): Promise<number[]> {
    const headers = { 'X-Forwarded-For': address };
    const body = { user: { email, password } };
    const one = () => api.request('POST', '/v1/login', { token: null, headers, body });
    const answers = await Promise.all(Array.from({ length: count }, one));
    return answers.map(({ status }) => status).sort();
  }
  const times = (count: number, status: number) => Array<number>(count).fill(status);
  const [home, stranger, hotel] = ['198.51.100.1', '203.0.113.7', '192.0.2.9'];

  it('are counted, unlike successful logins', async () => {
    const { email } = await api.addUser('member');
    await pool().query('truncate login_networks');
    expect(await statuses(email, TEST_PASSWORD, home, 8)).toEqual(times(8, 200));
    await pool().query('truncate login_networks');
    expect(await statuses(email, TEST_PASSWORD, home, 8)).toEqual(times(8, 200));
  });

  it('lock the user out neither on a known network nor elsewhere', async () => {
    const { email } = await api.addUser('member');
    expect(await statuses(email, TEST_PASSWORD, home, 1)).toEqual([200]);
    // Many more than ten, because the count falls with time on a slow machine.
    expect(new Set(await statuses(email, 'guess', stranger, 40))).toEqual(new Set([401, 429]));
    expect(await statuses(email, TEST_PASSWORD, hotel, 1)).toEqual([200]);
    expect(await statuses(email, 'mistyped', home, 40)).toEqual(times(40, 401));
    expect(await statuses(email, TEST_PASSWORD, home, 1)).toEqual([200]);
  });

  it('and of the user on a known network are limited, too', async () => {
    const { email } = await api.addUser('member');
    expect(await statuses(email, TEST_PASSWORD, home, 1)).toEqual([200]);
    const answers = new Set<number>();
    // No more at once, because only fifty may wait.
    for (let batch = 0; batch < 10 && !answers.has(429); batch += 1) {
      for (const status of await statuses(email, 'guess', home, 40)) answers.add(status);
    }
    expect(answers).toEqual(new Set([401, 429]));
  });

  it('are distinguished by the fifty newest networks of a user', async () => {
    const { userId, email } = await api.addUser('member');
    await pool().query(
      `insert into login_networks (user_id, network, logged_in_at)
       select $1, 'n' || n, now() - n * interval '1 hour' from generate_series(1, 60) n`,
      [userId],
    );
    expect(await statuses(email, TEST_PASSWORD, home, 1)).toEqual([200]);
    const { rows } = await pool().query<{ network: string }>(
      'select network from login_networks where user_id = $1 order by logged_in_at desc',
      [userId],
    );
    const newest = Array.from({ length: 49 }, (_, n) => `n${n + 1}`);
    expect(rows.map(({ network }) => network)).toEqual([home, ...newest]);
  });

  it('and of the user are counted together if the last login from a network is more than thirty days old', async () => {
    const { email } = await api.addUser('member');
    expect(await statuses(email, TEST_PASSWORD, home, 1)).toEqual([200]);
    await pool().query(`update login_networks set logged_in_at = now() - interval '31 days'`);
    expect(new Set(await statuses(email, 'mistyped', home, 40))).toEqual(new Set([401, 429]));
  });

  it('are distinguished by the networks of users, which are kept for thirty days', async () => {
    const { userId, email } = await api.addUser('member');
    await statuses(email, TEST_PASSWORD, home, 1);
    const task = sessionsUpkeep.tasks?.find(({ name }) => name === 'login_networks');
    const kept = async (days: number) => {
      const asOf = new Date(Date.now() + days * 86_400_000);
      if (task) await runTask(api.database, task, asOf);
      return (await pool().query('select 1 from login_networks where user_id = $1', [userId])).rowCount;
    };
    expect([await kept(29), await kept(31)]).toEqual([1, 0]);
  });
});
