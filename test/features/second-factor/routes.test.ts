// A user turns the second factor on and off; while it is on, no way to a session works without a code.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { insertSession } from '../../../src/platform/auth/session-rows.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, TEST_PASSWORD, type TestApi } from '../../support/api.ts';
import { carillonCommand } from '../../support/commands.ts';
import { eventually } from '../../support/eventually.ts';
import { codeNow, secretOfUri } from '../../support/second-factor.ts';

const PATH = '/v1/my/user/second_factor';

let api: TestApi;
let email: string;
let token: string;
let userId: number;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  ({ email, userJwt: token, userId } = await api.addUser('admin'));
});

const ask = (method: string, path = PATH, body?: unknown, jwt = token) =>
  api.request(method, path, { token: jwt, body });
const logIn = (otp?: string, session: 'token' | 'cookie' = 'token') =>
  api.request('POST', '/v1/login', {
    token: null,
    headers: { Origin: api.baseUrl },
    body: { user: { email, password: TEST_PASSWORD, otp }, session },
  });
const agePasswords = () =>
  api.database.pool.query(`update sessions set confirmed_at = now() - interval '16 minutes'`);

/** @returns the app's secret, the recovery codes, and the token of the session that stays */
async function turnOn() {
  const begun = await ask('POST');
  const secret = secretOfUri(String(begun.body.uri));
  const on = await ask('POST', `${PATH}/confirm`, { otp: codeNow(secret) });
  expect(on.status).toBe(200);
  const jwt = (on.headers.get('authorization') ?? '').replace('Bearer ', '');
  return { secret, codes: on.body.recovery_codes as unknown as string[], jwt };
}

/** Waits until a connection waits for a lock. */
const someoneWaits = () =>
  eventually(async () => {
    const { rowCount } = await api.database.pool.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    expect(rowCount).toBe(1);
  }, 5_000);

describe('the second factor', () => {
  it('is not for API keys', async () => {
    expect((await ask('GET', PATH, undefined, api.apiKey)).status).toBe(403);
    expect((await ask('POST', PATH, undefined, api.apiKey)).status).toBe(403);
  });

  it('shows its secret and the recovery codes once, and is on only after a correct code', async () => {
    const begun = await ask('POST');
    expect(begun.status).toBe(201);
    expect(begun.body).toEqual({
      secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
      uri: expect.stringContaining(`secret=${String(begun.body.secret)}`),
    });
    expect((await logIn()).status).toBe(200);
    const wrong = await ask('POST', `${PATH}/confirm`, { otp: '12345' });
    expect([wrong.status, wrong.body.validation_errors]).toEqual([
      422,
      { otp: ['the code is wrong or was already used'] },
    ]);
    expect((await ask('GET')).body).toEqual({ enabled: false, recovery_codes_left: 0 });
    const { codes, jwt } = await turnOn();
    expect(codes).toHaveLength(10);
    expect((await ask('GET', PATH, undefined, jwt)).body).toEqual({ enabled: true, recovery_codes_left: 10 });
    expect((await ask('POST', PATH, undefined, jwt)).status).toBe(409);
  });

  it('ends every session without a code when it is turned on', async () => {
    const other = ((await logIn()).headers.get('authorization') ?? '').replace('Bearer ', '');
    expect((await ask('GET', PATH, undefined, other)).status).toBe(200);
    const { jwt } = await turnOn();
    expect((await ask('GET', PATH, undefined, other)).status).toBe(401);
    expect((await ask('GET', PATH, undefined, token)).status).toBe(401);
    expect((await ask('GET', PATH, undefined, jwt)).status).toBe(200);
  });

  it.each(['token', 'cookie'] as const)('is asked for at sign-in with a %s', async (kind) => {
    const { secret } = await turnOn();
    const without = await logIn(undefined, kind);
    expect([without.status, without.body.code]).toEqual([401, 'otp_required']);
    const wrong = await logIn('not-a-code', kind);
    expect([wrong.status, wrong.body.code]).toEqual([401, 'otp_required']);
    for (const answer of [without, wrong]) {
      expect(answer.headers.get('authorization')).toBeNull();
      expect(answer.headers.get('set-cookie')).toBeNull();
    }
    const code = codeNow(secret, 1);
    expect((await logIn(code, kind)).status).toBe(200);
    expect((await logIn(code, kind)).status).toBe(401);
  });

  it('does not reveal by a wrong password whether it is on', async () => {
    await turnOn();
    const answer = await api.request('POST', '/v1/login', {
      token: null,
      body: { user: { email, password: 'wrong', otp: '123456' } },
    });
    expect(answer.body).toMatchObject({ code: 'unauthorized', message: 'wrong email or password' });
    const { rows } = await api.database.pool.query(
      'select failed_tries from second_factors where user_id = $1',
      [userId],
    );
    expect(rows).toEqual([{ failed_tries: 0 }]);
  });

  it('is locked for all ways in after five wrong codes', async () => {
    const { secret, codes } = await turnOn();
    for (let n = 0; n < 5; n += 1) await logIn('not-a-code');
    for (const otp of [codeNow(secret, 1), codes[0]]) {
      const answer = await logIn(otp, 'cookie');
      expect([answer.status, answer.body.code]).toEqual([429, 'rate_limited']);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(800);
    }
  });

  it('changes only after a recent confirmation', async () => {
    const { jwt } = await turnOn();
    await agePasswords();
    const asked = [
      await ask('POST', PATH, undefined, jwt),
      await ask('POST', `${PATH}/confirm`, { otp: '123456' }, jwt),
      await ask('POST', `${PATH}/recovery_codes`, undefined, jwt),
      await ask('DELETE', PATH, undefined, jwt),
    ];
    expect(asked.map(({ body }) => body.code)).toEqual(Array(4).fill('confirmation_required'));
    expect((await ask('GET', PATH, undefined, jwt)).body).toMatchObject({ enabled: true });
  });

  it('refuses a sign-in without a code that began before it was turned on', async () => {
    const signingIn = await inTransaction(api.database.pool, async (trx) => {
      await trx.query('select 1 from users where id = $1 for no key update', [userId]);
      const waiting = logIn();
      await someoneWaits();
      await trx.query(
        `insert into second_factors (user_id, secret_sealed, confirmed_at) values ($1, 'sealed', now())`,
        [userId],
      );
      return { waiting };
    });
    const answer = await signingIn.waiting;
    expect([answer.status, answer.body.code]).toEqual([401, 'otp_required']);
  });

  it('ends a session whose sign-in ends while it is being turned on', async () => {
    const secret = secretOfUri(String((await ask('POST')).body.uri));
    const started = await inTransaction(api.database.pool, async (trx) => {
      await trx.query('select 1 from users where id = $1 for share', [userId]);
      const turningOn = ask('POST', `${PATH}/confirm`, { otp: codeNow(secret) });
      await someoneWaits();
      const of = { userId, kind: 'token', secondFactor: false, network: null, userAgent: null } as const;
      const { session } = await insertSession(trx, of);
      return { turningOn, id: session.id };
    });
    expect((await started.turningOn).status).toBe(200);
    const { rows } = await api.database.pool.query('select 1 from sessions where id = $1', [started.id]);
    expect(rows).toEqual([]);
  });

  it('replaces recovery codes', async () => {
    const { codes, jwt } = await turnOn();
    const renewed = await ask('POST', `${PATH}/recovery_codes`, undefined, jwt);
    const [fresh] = renewed.body.recovery_codes as unknown as string[];
    expect((await logIn(codes[0])).status).toBe(401);
    expect((await logIn(fresh)).status).toBe(200);
    expect((await ask('GET', PATH, undefined, jwt)).body).toEqual({ enabled: true, recovery_codes_left: 9 });
  });

  it('is off after DELETE, which is then a 404', async () => {
    const { jwt } = await turnOn();
    const off = await ask('DELETE', PATH, undefined, jwt);
    expect([off.status, off.body]).toEqual([200, { enabled: false, recovery_codes_left: 0 }]);
    expect((await logIn()).status).toBe(200);
    expect((await ask('DELETE', PATH, undefined, jwt)).status).toBe(404);
    expect((await ask('POST', `${PATH}/recovery_codes`, undefined, jwt)).status).toBe(404);
  });

  it('is reset by an operator', async () => {
    await turnOn();
    const env = { DATABASE_URL: api.config.DATABASE_URL ?? '' };
    const done = await carillonCommand(['user', 'reset-2fa', email], env);
    expect(done.code).toBe(0);
    expect((await logIn()).status).toBe(200);
    expect((await carillonCommand(['user', 'reset-2fa', email], env)).code).toBe(1);
  });
});
