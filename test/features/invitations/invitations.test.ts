// Invitations reach only the invited address, work once, and give no one more than the inviter may give.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Role } from '../../../src/platform/auth/tenant.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, TEST_PASSWORD, type TestApi } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { findText } from '../../support/database-text.ts';

const PATH = '/v1/my/invitations';
const PUBLIC_URL = 'https://mail.acme.test';
const PASSWORD = { password: 'a long password' };

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { PUBLIC_URL } });
});
afterAll(() => api.close());
beforeEach(() =>
  api.database.pool.query('truncate invitations, messages, message_contents, send_queue, secret_mails'),
);

const query = async <Row extends object>(sql: string, values: unknown[] = []) =>
  (await api.database.pool.query<Row & Record<string, unknown>>(sql, values)).rows;
const invite = (email: string, role: Role = 'member', token = api.userJwt, headers = {}) =>
  api.request('POST', PATH, { token, body: { email, role }, headers });
const look = (token: string) => api.request('GET', `/v1/invitations/${token}`, { token: null });
const accept = (token: string, body: object = PASSWORD) =>
  api.request('POST', `/v1/invitations/${token}/accept`, { token: null, body });
const logIn = (email: string, password = PASSWORD.password) =>
  api.request('POST', '/v1/login', { token: null, body: { user: { email, password } } });

async function newestMail(): Promise<
  { to: string; text: string; html: string; secret: boolean } | undefined
> {
  const rows = await query<{ to: string; text: string; html: string; secret: boolean }>(
    `select m.to_address as to, c.text, c.html,
       exists (select 1 from secret_mails s where s.message_id = m.id) as secret
     from messages m join message_contents c on c.message_id = m.id order by m.id desc limit 1`,
  );
  return rows[0];
}

/** Invites an address, and returns the token in the mail. */
async function tokenFor(email: string, role?: Role): Promise<string> {
  expect((await invite(email, role)).status).toBe(201);
  return /invitations\/([\w-]{43})\s/.exec((await newestMail())?.text ?? '')?.[1] ?? 'no token';
}

/** Makes a user of no account. */
async function strangerWith(email: string): Promise<string> {
  await query('delete from users where email_key = $1', [email]);
  const { userId } = await api.addUser('member');
  await query('update users set email = $2, email_key = $2 where id = $1', [userId, email]);
  await query('delete from memberships where user_id = $1', [userId]);
  return (await logIn(email, TEST_PASSWORD)).headers.get('authorization')?.slice(7) ?? '';
}

const own = (token: string) => api.request('GET', '/v1/my/user/invitations', { token });
const answerOwn = (token: string, id: unknown, what: 'accept' | 'decline') =>
  api.request('POST', `/v1/my/user/invitations/${String(id)}/${what}`, { token });
const roleOf = async (email: string) =>
  (
    await query<{ role: Role }>(
      'select role from memberships m join users u on u.id = m.user_id where u.email_key = $1 and account_id = $2',
      [email, api.accountId],
    )
  )[0]?.role;

describe('an invitation of a new address', () => {
  it('is mailed with a link at PUBLIC_URL, whatever the Host header says', async () => {
    const { status, body } = await invite('new@acme.test', 'admin', api.userJwt, {
      'X-Forwarded-Host': 'evil.test',
    });
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({ email: 'new@acme.test', role: 'admin', status: 'pending', link: null }),
    ]);
    const sent = await newestMail();
    expect(sent).toMatchObject({ to: 'new@acme.test', secret: true });
    expect(sent?.text).toMatch(/^owner@acme\.test invites you to “Acme” as admin\./);
    for (const part of [sent?.text, sent?.html]) {
      expect(part).toContain(`${PUBLIC_URL}/console/invitations/`);
      expect(part).not.toMatch(/127\.0\.0\.1|evil/);
    }
  });

  it('stores no token but in the mail', async () => {
    const token = await tokenFor('secret@acme.test');
    expect(await findText(api.database, token)).toEqual(['message_contents']);
  });

  it('does not put a link that a customer chose as the account’s name into the mail', async () => {
    for (const name of [
      'https://evil.test',
      'Pay at evil.test now',
      'evil。test',
      'evil.test/login',
      'a@evil.test',
    ]) {
      await query('update accounts set name = $1 where id = $2', [name, api.accountId]);
      await query('truncate invitations');
      await invite('new@acme.test');
      expect((await newestMail())?.text).toMatch(/invites you to an account as/);
    }
    await query(`update accounts set name = 'Acme' where id = $1`, [api.accountId]);
  });

  it('cannot be revoked once it is accepted, even at the same time', async () => {
    const { body } = await invite('race@acme.test');
    const revoking = await inTransaction(api.database.pool, async (trx) => {
      await trx.query('update invitations set accepted_at = now() where id = $1', [body.id]);
      const waiting = api.request('DELETE', `${PATH}/${String(body.id)}`, { token: api.userJwt });
      await eventually(async () => {
        const { rowCount } = await api.database.pool.query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        expect(rowCount).toBe(1);
      }, 5_000);
      return { waiting };
    });
    expect((await revoking.waiting).status).toBe(404);
  });

  it('creates a user with the invited role, once, and starts no session', async () => {
    const token = await tokenFor('once@acme.test', 'admin');
    const names = { first_name: 'On', last_name: 'Ce' };
    const made = await accept(token, { ...PASSWORD, ...names });
    expect([made.status, made.body]).toEqual([
      201,
      expect.objectContaining({ email: 'once@acme.test', ...names }),
    ]);
    expect([made.headers.get('authorization'), made.headers.get('set-cookie')]).toEqual([null, null]);
    expect(await roleOf('once@acme.test')).toBe('admin');
    expect((await logIn('once@acme.test')).status).toBe(200);
    for (const again of [await look(token), await accept(token, { password: 'another password' })]) {
      expect(again.status).toBe(404);
    }
    expect((await logIn('once@acme.test')).status).toBe(200);
  });

  it('is accepted once by two requests at once', async () => {
    const token = await tokenFor('twice@acme.test');
    const both = await Promise.all([accept(token), accept(token), accept(token)]);
    expect(both.map(({ status }) => status).sort()).toEqual([201, 404, 404]);
  });

  it('still works after scanners have looked at it', async () => {
    const token = await tokenFor('scanned@acme.test');
    const before = await query('select * from invitations');
    for (let n = 0; n < 3; n += 1) {
      const { status, body } = await look(token);
      expect([status, body]).toEqual([
        200,
        {
          ...{ account_name: 'Acme', email: 'scanned@acme.test', role: 'member' },
          expires_at: expect.any(String),
        },
      ]);
    }
    expect(await query('select * from invitations')).toEqual(before);
    expect((await accept(token)).status).toBe(201);
  });

  it.each([
    ['revoked', 'revoked_at = now()'],
    ['expired', 'expires_at = now()'],
    ['used', 'accepted_at = now()'],
  ])('gives nothing to a thief once it is %s', async (what, change) => {
    const email = `${what}@thief.test`;
    const token = await tokenFor(email);
    await query(`update invitations set ${change}`);
    for (const answer of [await look(token), await accept(token)]) {
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    }
    expect(await query('select 1 from users where email_key = $1', [email])).toEqual([]);
  });

  it('cannot change the password of a user whom the address has got since', async () => {
    const token = await tokenFor('late@acme.test');
    await strangerWith('late@acme.test');
    const answer = await accept(token, { password: 'the password of a thief' });
    expect([answer.status, answer.body.code]).toEqual([409, 'conflict']);
    expect((await logIn('late@acme.test', TEST_PASSWORD)).status).toBe(200);
    expect(await roleOf('late@acme.test')).toBeUndefined();
    expect((await look(token)).status).toBe(200);
  });

  it.each([
    [{ password: 'short' }, 'password'],
    [{ password: 'x'.repeat(1_025) }, 'password'],
    [{ ...PASSWORD, first_name: 'a\nb' }, 'first_name'],
    [{ ...PASSWORD, role: 'owner' }, 'role'],
    [{ ...PASSWORD, email: 'other@acme.test' }, 'email'],
  ])('is not accepted with %j', async (body, field) => {
    const token = await tokenFor('fields@acme.test');
    const answer = await accept(token, body);
    expect([answer.status, Object.keys(answer.body.validation_errors ?? {})]).toEqual([422, [field]]);
    expect((await look(token)).status).toBe(200);
  });
});

describe('an invitation of an existing user', () => {
  it('is mailed without a token, and accepted signed in', async () => {
    const user = await strangerWith('known@other.test');
    const { body } = await invite('Known@other.test', 'admin');
    expect(body.link).toBeNull();
    const text = (await newestMail())?.text;
    expect(text).toContain(`sign in at ${PUBLIC_URL}/console and accept`);
    expect(text).not.toContain('/invitations/');
    expect(await query('select 1 from invitations where token_digest is not null')).toEqual([]);
    const { list } = await own(user);
    expect(list).toEqual([
      expect.objectContaining({
        id: body.id,
        account_name: 'Acme',
        account_id: api.accountId,
        role: 'admin',
      }),
    ]);
    expect((await answerOwn(user, body.id, 'accept')).status).toBe(200);
    expect(await roleOf('known@other.test')).toBe('admin');
    expect((await own(user)).list).toEqual([]);
    expect((await answerOwn(user, body.id, 'accept')).status).toBe(404);
  });

  it('cannot be seen, accepted or declined by another user', async () => {
    await strangerWith('target@other.test');
    const { body } = await invite('target@other.test');
    const thief = await strangerWith('thief@other.test');
    expect((await own(thief)).list).toEqual([]);
    for (const what of ['accept', 'decline'] as const) {
      expect((await answerOwn(thief, body.id, what)).status).toBe(404);
    }
    expect(await roleOf('thief@other.test')).toBeUndefined();
    expect(
      await query('select 1 from invitations where accepted_at is null and revoked_at is null'),
    ).toHaveLength(1);
  });

  it('can be declined', async () => {
    const user = await strangerWith('decliner@other.test');
    const { body } = await invite('decliner@other.test');
    expect((await answerOwn(user, body.id, 'decline')).status).toBe(200);
    expect((await answerOwn(user, body.id, 'accept')).status).toBe(404);
    expect((await api.request('GET', PATH, { token: api.userJwt })).list).toEqual([]);
  });

  it('is not for API keys', async () => {
    expect((await own(api.apiKey)).status).toBe(403);
  });
});

describe('the invitations of an account', () => {
  it('are listed, newest first, without links', async () => {
    await invite('one@acme.test');
    await invite('two@acme.test');
    await query(`update invitations set expires_at = now() where email_key = 'one@acme.test'`);
    const { list, text, headers } = await api.request('GET', PATH, { token: api.userJwt });
    expect(list.map(({ email, status }) => [email, status])).toEqual([
      ['two@acme.test', 'pending'],
      ['one@acme.test', 'expired'],
    ]);
    expect([text.includes('link'), headers.get('x-total-count')]).toEqual([false, '2']);
  });

  it.each<[Role, Role, number]>([
    ['owner', 'owner', 201],
    ['admin', 'admin', 201],
    ['admin', 'owner', 403],
    ['member', 'member', 403],
  ])('let an %s invite an %s: %d', async (role, invited, status) => {
    const { userJwt } = await api.addUser(role);
    expect((await invite('x@acme.test', invited, userJwt)).status).toBe(status);
  });

  it('let an admin neither send nor revoke the invitation of an owner', async () => {
    const { body } = await invite('boss@acme.test', 'owner');
    const { userJwt } = await api.addUser('admin');
    const path = `${PATH}/${String(body.id)}`;
    expect((await api.request('POST', `${path}/resend`, { token: userJwt })).status).toBe(403);
    expect((await api.request('DELETE', path, { token: userJwt })).status).toBe(403);
    expect((await api.request('DELETE', path, { token: api.userJwt })).status).toBe(200);
  });

  it('are not for API keys', async () => {
    for (const token of [api.apiKey, api.testApiKey]) {
      expect((await invite('x@acme.test', 'member', token)).status).toBe(403);
    }
  });

  it('need a recent password for admins and owners, but not for members', async () => {
    const { userJwt, userId } = await api.addUser('owner');
    await query(`update sessions set confirmed_at = now() - interval '16 minutes' where user_id = $1`, [
      userId,
    ]);
    for (const role of ['owner', 'admin'] as const) {
      const answer = await invite(`${role}@acme.test`, role, userJwt);
      expect([answer.status, answer.body.code]).toEqual([403, 'confirmation_required']);
    }
    const made = await invite('plain@acme.test', 'member', userJwt);
    expect(made.status).toBe(201);
    await query(`update invitations set role = 'admin'`);
    const again = await api.request('POST', `${PATH}/${String(made.body.id)}/resend`, { token: userJwt });
    expect(again.body.code).toBe('confirmation_required');
  });

  it('lose those of an inviter who may no longer invite', async () => {
    const admin = await api.addUser('admin');
    await invite('admins@acme.test', 'admin', admin.userJwt);
    await invite('members@acme.test', 'member', admin.userJwt);
    const owner = await api.addUser('owner');
    await invite('owners@acme.test', 'owner', owner.userJwt);
    await invite('more@acme.test', 'admin', owner.userJwt);
    const setRole = (userId: number, role: Role) =>
      api.request('PATCH', `/v1/my/users/${userId}`, { token: api.userJwt, body: { role } });
    const left = async () =>
      (await api.request('GET', PATH, { token: api.userJwt })).list.map(({ email }) => email);
    await setRole(owner.userId, 'admin');
    expect(await left()).toEqual(['more@acme.test', 'members@acme.test', 'admins@acme.test']);
    await setRole(owner.userId, 'member');
    expect(await left()).toEqual(['members@acme.test', 'admins@acme.test']);
    await api.request('DELETE', `/v1/my/users/${admin.userId}`, { token: api.userJwt });
    expect(await left()).toEqual([]);
  });

  it('do not repeat a member or a pending invitation, but an expired one', async () => {
    expect((await invite(api.email.toUpperCase())).body.code).toBe('conflict');
    expect((await invite('again@acme.test')).status).toBe(201);
    expect((await invite('AGAIN@acme.test')).body.code).toBe('conflict');
    await query('update invitations set expires_at = now()');
    expect((await invite('again@acme.test')).status).toBe(201);
  });

  it('refuse an address that looks like that of another user, and change nothing', async () => {
    expect((await invite('kelvin@acme.test')).status).toBe(201);
    const refused = await invite('\u212aelvin@acme.test');
    expect([refused.status, refused.body.validation_errors]).toEqual([
      422,
      { email: ['must not contain U+212A, which looks like another letter or sign'] },
    ]);
    const { list } = await api.request('GET', PATH, { token: api.userJwt });
    expect(list.map(({ email }) => email)).not.toContain('\u212aelvin@acme.test');
  });

  it('are made once by two requests at once', async () => {
    const both = await Promise.all([invite('race@acme.test'), invite('race@acme.test')]);
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  it('are sent again with another link, at most five times', async () => {
    const first = await tokenFor('resent@acme.test');
    const id = String((await query<{ id: number }>('select id from invitations'))[0]?.id);
    await query(`update invitations set expires_at = now()`);
    const resend = () => api.request('POST', `${PATH}/${id}/resend`, { token: api.userJwt });
    expect((await resend()).body).toMatchObject({ status: 'pending', link: null });
    expect((await look(first)).status).toBe(404);
    const second = /invitations\/([\w-]{43})\s/.exec((await newestMail())?.text ?? '')?.[1] ?? '';
    expect((await look(second)).status).toBe(200);
    for (let n = 0; n < 3; n += 1) expect((await resend()).status).toBe(200);
    expect((await resend()).body.code).toBe('rate_limited');
  });

  it('are limited for each day, and for each address', async () => {
    for (let n = 0; n < 3; n += 1) {
      const { body } = await invite('often@acme.test');
      await api.request('DELETE', `${PATH}/${String(body.id)}`, { token: api.userJwt });
    }
    expect((await invite('often@acme.test')).status).toBe(429);
    await query(
      `insert into invitations (account_id, email, email_key, role, expires_at)
       select $1, 'n' || n, 'n' || n, 'member', now() from generate_series(1, 97) n`,
      [api.accountId],
    );
    expect((await invite('more@acme.test')).status).toBe(429);
  });

  it.each(['nobody', 'Name <a@b.test>', '', 'a@b.test\r\nBcc: c@d.test'])(
    'refuse the address %j',
    async (email) => {
      const { status, body } = await invite(email);
      expect([status, Object.keys(body.validation_errors ?? {})]).toEqual([422, ['email']]);
      expect(await query('select 1 from invitations')).toEqual([]);
    },
  );
});

describe('without mail', () => {
  it.each([
    ['PUBLIC_URL', {}, '/console/invitations/'],
    [
      'a MAIL_DOMAIN of its own',
      { PUBLIC_URL, MAIL_DOMAIN: 'carillon.localhost' },
      `${PUBLIC_URL}/console/invitations/`,
    ],
  ])('because of no %s, the inviter sees the link of a new address once', async (_what, env, start) => {
    const local = await startTestApi({ env });
    const ask = (email: string) =>
      local.request('POST', PATH, { token: local.userJwt, body: { email, role: 'member' } });
    const { body } = await ask('new@acme.test');
    const link = String(body.link);
    expect(link.slice(0, -43)).toBe(start);
    const listed = await local.request('GET', PATH, { token: local.userJwt });
    expect(listed.text).not.toContain(link);
    expect((await ask(local.other.email)).body.link).toBeNull();
    const { rowCount } = await local.database.pool.query('select 1 from messages');
    expect(rowCount).toBe(0);
    const shown = await local.request('GET', `/v1/invitations/${link.slice(-43)}`, { token: null });
    expect(shown.status).toBe(200);
    await local.close();
  });
});
