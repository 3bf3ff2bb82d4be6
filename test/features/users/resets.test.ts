// A mailed link sets a new password once, does not reveal which addresses exist, and leaves no token in the database.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { linkDelivery } from '../../../src/features/system-mail/service.ts';
import { removeSentSecrets } from '../../../src/features/system-mail/secrets.ts';
import { createReset } from '../../../src/features/users/reset-links.ts';
import { mailResets } from '../../../src/features/users/resets.ts';
import { usersUpkeep } from '../../../src/features/users/upkeep.ts';
import { startTestApi, TEST_PASSWORD, type TestApi } from '../../support/api.ts';
import { findText } from '../../support/database-text.ts';
import { eventually } from '../../support/eventually.ts';
import { runTask } from '../../support/housekeeping.ts';
import { startSmtpServer, startTestSender, type TestSmtpServer } from '../../support/sending.ts';

const PATH = '/v1/password_resets';
const PUBLIC_URL = 'https://mail.acme.test';
const NEW_PASSWORD = 'a new password';

let api: TestApi;
let smtp: TestSmtpServer;
beforeAll(async () => {
  api = await startTestApi({ env: { PUBLIC_URL, TRUSTED_PROXIES: '127.0.0.1' } });
  smtp = await startSmtpServer();
});
afterAll(async () => {
  await smtp.stop();
  await api.close();
});
beforeEach(async () => {
  await api.database.pool.query(
    'truncate password_resets, password_reset_requests, messages, message_contents, send_queue, secret_mails',
  );
  smtp.received.length = 0;
});

const open = { token: null };
/** Each request comes from a network of its own, because a network may ask only a few times. */
let asked = 0;
const ask = (email: string, headers: Record<string, string> = {}) => {
  asked += 1;
  const from = { 'X-Forwarded-For': `198.51.100.${asked}`, ...headers };
  return api.request('POST', PATH, { ...open, body: { email }, headers: from });
};
const look = (token: string) => api.request('GET', `${PATH}/${token}`, open);
const reset = (token: string, password = NEW_PASSWORD) =>
  api.request('POST', `${PATH}/${token}`, { ...open, body: { password } });
const logIn = (email: string, password: string) =>
  api.request('POST', '/v1/login', { ...open, body: { user: { email, password } } });
const mail = (env = api.config) => mailResets(api.database.pool, linkDelivery(env));
const count = async (table: string) => {
  const { rows } = await api.database.pool.query<{ count: number }>(`select count(*)::int from ${table}`);
  return rows[0]?.count;
};

/** The token in the newest mail that was written. */
async function mailedToken(): Promise<string> {
  const { rows } = await api.database.pool.query<{ text: string }>(
    'select text from message_contents order by message_id desc limit 1',
  );
  return /console\/reset\/([\w-]{43})\s/.exec(rows[0]?.text ?? '')?.[1] ?? 'no token';
}

describe('the request for a link', () => {
  it('gets the same response for known and unknown addresses, and writes the same', async () => {
    const known = await ask(api.email.toUpperCase());
    const unknown = await ask('nobody@acme.test');
    expect([known.status, unknown.status]).toEqual([200, 200]);
    expect(known.body).toEqual({ email: api.email.toUpperCase() });
    expect(unknown.body).toEqual({ email: 'nobody@acme.test' });
    const names = ({ headers }: typeof known) => [...headers.keys()].sort();
    expect(names(known)).toEqual(names(unknown));
    expect(await count('password_reset_requests')).toBe(2);
    expect([await count('messages'), await count('password_resets')]).toEqual([0, 0]);
  });

  it('runs the same statements for known and unknown addresses', async () => {
    const statementsOf = async (email: string) => {
      const { pool } = api.database;
      const seen: string[] = [];
      const original = pool.query.bind(pool);
      const spied = (...args: Parameters<typeof original>) => {
        seen.push(typeof args[0] === 'string' ? args[0] : JSON.stringify(args[0]));
        return original(...args);
      };
      Object.assign(pool, { query: spied });
      try {
        await ask(email);
      } finally {
        Object.assign(pool, { query: original });
      }
      return seen;
    };
    const known = await statementsOf(api.email);
    expect(known.length).toBeGreaterThan(0);
    expect(await statementsOf('nobody@acme.test')).toEqual(known);
  });

  it('is limited for each network', async () => {
    const from = (ip: string) => ask('a@b.test', { 'X-Forwarded-For': ip });
    const answers = await Promise.all(Array.from({ length: 25 }, () => from('192.0.2.1')));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(5);
    expect((await from('192.0.2.2')).status).toBe(200);
  });
});

describe('the mail with the link', () => {
  it('goes to known addresses only, with a link that never comes from the Host header', async () => {
    const headers = { 'X-Forwarded-Host': 'evil.test', 'X-Forwarded-Proto': 'http' };
    await ask(api.email, headers);
    await ask('nobody@acme.test', headers);
    expect(await mail()).toEqual({ taken: 2, mailed: 1 });
    expect(await count('password_reset_requests')).toBe(0);
    const { rows } = await api.database.pool.query<{ text: string; html: string; to: string }>(
      `select c.text, c.html, m.to_address as to, m.tracking from messages m join message_contents c on c.message_id = m.id`,
    );
    expect(rows).toEqual([
      expect.objectContaining({ to: api.email, tracking: { clicks: false, opens: false } }),
    ]);
    for (const body of [rows[0]?.text, rows[0]?.html]) {
      expect(body).toContain(`${PUBLIC_URL}/console/reset/`);
      expect(body).not.toContain('127.0.0.1');
      expect(body).not.toContain('evil');
    }
  });

  it('is one for several requests at once, and at most three in an hour', async () => {
    for (let n = 0; n < 3; n += 1) {
      await ask(api.email);
      await ask(api.email);
      expect(await mail()).toEqual({ taken: 2, mailed: 1 });
    }
    await ask(api.email);
    expect(await mail()).toEqual({ taken: 1, mailed: 0 });
    await runTask(api.database, taskOf('password_resets'), new Date(Date.now() + 3_601_000));
    await ask(api.email);
    expect(await mail()).toEqual({ taken: 1, mailed: 1 });
  });

  it('keeps the limit when two workers mail at once', async () => {
    for (let n = 0; n < 2; n += 1) await createReset(api.database.pool, api.userId);
    // Each worker takes a hundred.
    await api.database.pool.query(
      'insert into password_reset_requests (email_key) select $1 from generate_series(1, 300)',
      [api.email],
    );
    const done = await Promise.all([mail(), mail(), mail()]);
    expect(done.map(({ taken }) => taken)).toEqual([100, 100, 100]);
    expect(done.reduce((sum, { mailed }) => sum + mailed, 0)).toBe(1);
  });

  it.each([
    ['PUBLIC_URL', { PUBLIC_URL: undefined }],
    ['a MAIL_DOMAIN of its own', { MAIL_DOMAIN: 'carillon.localhost' }],
  ])('is not written without %s', async (_what, env) => {
    await ask(api.email);
    expect(await mail({ ...api.config, ...env })).toEqual({ taken: 1, mailed: 0 });
    expect(await count('messages')).toBe(0);
  });

  it('leaves no trace of the token in the database once it is sent', async () => {
    await ask(api.email);
    await mail();
    const token = await mailedToken();
    expect(await findText(api.database, token)).toEqual(['message_contents']);
    await removeSentSecrets(api.database.pool);
    expect(await findText(api.database, token)).toEqual(['message_contents']);
    const sender = await startTestSender({ url: api.config.DATABASE_URL ?? '', port: smtp.port });
    await eventually(() => expect(smtp.received).toHaveLength(1));
    expect(smtp.received[0]?.raw.replaceAll('=\r\n', '')).toContain(token);
    await eventually(async () => {
      await removeSentSecrets(api.database.pool);
      expect(await count('secret_mails')).toBe(0);
    });
    await sender.stop();
    expect(await findText(api.database, token)).toEqual([]);
    expect(await count('messages')).toBe(1);
    expect((await look(token)).status).toBe(200);
  });

  it('loses its content also if it is never sent', async () => {
    await ask(api.email);
    await mail();
    await api.database.pool.query(`update messages set status = 'failed'`);
    await removeSentSecrets(api.database.pool);
    expect([await count('message_contents'), await count('secret_mails')]).toEqual([0, 0]);
  });
});

const taskOf = (name: string) => {
  const task = usersUpkeep.tasks?.find((each) => each.name === name);
  if (!task) throw new Error(`no task ${name}`);
  return task;
};

describe('the link', () => {
  let user: { userId: number; email: string; userJwt: string };
  let token: string;
  beforeEach(async () => {
    user = await api.addUser('member');
    token = await createReset(api.database.pool, user.userId);
  });

  it('shows the address, and still works after scanners have looked at it', async () => {
    for (let n = 0; n < 3; n += 1) {
      const { status, body } = await look(token);
      expect([status, body.email]).toEqual([200, user.email]);
    }
    const head = await api.request('HEAD', `${PATH}/${token}`, open);
    expect(head.status).toBe(200);
    expect((await reset(token)).status).toBe(200);
  });

  it('sets the password once', async () => {
    expect((await reset(token)).body).toMatchObject({ email: user.email });
    expect((await logIn(user.email, NEW_PASSWORD)).status).toBe(200);
    expect((await logIn(user.email, TEST_PASSWORD)).status).toBe(401);
    for (const answer of [await look(token), await reset(token, 'another password')]) {
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    }
    expect((await logIn(user.email, NEW_PASSWORD)).status).toBe(200);
  });

  it('sets one password if it is used twice at once, or together with another link', async () => {
    const second = await createReset(api.database.pool, user.userId);
    const answers = await Promise.all([
      reset(token, 'password one'),
      reset(token, 'password two'),
      reset(second, 'password three'),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404]);
  });

  it('ends the sessions, the known networks and the other links of the user', async () => {
    const other = await createReset(api.database.pool, user.userId);
    await logIn(user.email, TEST_PASSWORD);
    expect((await reset(token)).status).toBe(200);
    expect((await api.request('GET', '/v1/my/users', { token: user.userJwt })).status).toBe(401);
    expect((await look(other)).status).toBe(404);
    const { rowCount } = await api.database.pool.query('select 1 from login_networks where user_id = $1', [
      user.userId,
    ]);
    expect(rowCount).toBe(0);
  });

  it('starts no session, and keeps the second factor', async () => {
    await api.database.pool.query(
      `insert into second_factors (user_id, secret_sealed, confirmed_at) values ($1, 's', now())`,
      [user.userId],
    );
    const answer = await reset(token);
    expect([answer.status, answer.headers.get('authorization'), answer.headers.get('set-cookie')]).toEqual([
      200,
      null,
      null,
    ]);
    const { rows } = await api.database.pool.query(
      `select (select count(*)::int from second_factors where user_id = $1) as factors,
         (select count(*)::int from sessions where user_id = $1) as sessions`,
      [user.userId],
    );
    expect(rows).toEqual([{ factors: 1, sessions: 0 }]);
  });

  it('works for an hour', async () => {
    await api.database.pool.query(`update password_resets set expires_at = now()`);
    for (const answer of [await look(token), await reset(token)]) expect(answer.status).toBe(404);
    expect((await logIn(user.email, TEST_PASSWORD)).status).toBe(200);
  });

  it.each(['short', 'x'.repeat(1_025)])('does not set a password of a wrong length', async (password) => {
    const answer = await reset(token, password);
    expect([answer.status, Object.keys(answer.body.validation_errors ?? {})]).toEqual([422, ['password']]);
    expect((await look(token)).status).toBe(200);
  });

  it.each(['unknown', 'x'.repeat(43), 'x'.repeat(100)])('is a 404 if it is unknown', async (unknown) => {
    expect((await look(unknown)).status).toBe(404);
  });
});
