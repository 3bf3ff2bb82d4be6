// The pages sign users in under the limits of the API, and grant only what the user has ticked and may use.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { listGrants } from '../../../src/features/oauth/index.ts';
import { startTestApi, TEST_PASSWORD, type TestApi } from '../../support/api.ts';
import { type Assistant, createAssistant } from '../../support/assistant.ts';
import { createPageVisitor, type PageVisitor } from '../../support/oauth-pages.ts';
import { codeNow, secretOfUri } from '../../support/second-factor.ts';

let api: TestApi;
let assistant: Assistant;
let visitor: PageVisitor;
let ownBrand: string;
beforeAll(async () => {
  api = await startTestApi();
  assistant = await createAssistant(api, { name: 'Ann’s <b>helper</b>' });
  ownBrand = `${api.accountId}-${api.brandId}`;
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('delete from oauth_grants');
  visitor = createPageVisitor(api, assistant);
});

/** Begins an authorization, and signs in. @returns the path of its page */
async function beginSignedIn(scope?: string, email = api.email): Promise<string> {
  const path = await visitor.begin(scope);
  const { status, html } = await visitor.signIn(path, email);
  if (status !== 303) throw new Error(html);
  return path;
}

const grants = (userId = api.userId) =>
  listGrants(api.database.pool, { userId }, { number: 1, limit: 10, offset: 0, after: null });

describe('the page that asks to sign in', () => {
  it('appears unless the browser is signed in, and names the client as unverified', async () => {
    const path = await visitor.begin();
    const { status, html } = await visitor.open(path);
    expect([status, html]).toEqual([200, expect.stringContaining('<title>Sign in – Carillon</title>')]);
    expect(html).toContain(
      'Ann’s &lt;b&gt;helper&lt;/b&gt;</bdi></strong> <span class="mark">unverified</span>',
    );
  });

  it('does not reveal whether the address or the password is wrong', async () => {
    const path = await visitor.begin();
    const known = await visitor.signIn(path, api.email, { password: 'wrong' });
    const unknown = await visitor.signIn(path, 'nobody@acme.test', { password: 'wrong' });
    expect([known.status, unknown.status]).toEqual([401, 401]);
    expect(known.html.replace(api.email, '')).toBe(unknown.html.replace('nobody@acme.test', ''));
    expect(known.html).toContain('The email address or the password is wrong.');
  });

  it('asks for what is missing', async () => {
    const { status, html } = await visitor.signIn(await visitor.begin(), '');
    expect([status, html]).toEqual([422, expect.stringContaining('Enter your email address')]);
  });

  it('starts the session of a browser, and leads back to the request', async () => {
    const path = await visitor.begin();
    const { status, location } = await visitor.signIn(path);
    expect([status, location?.pathname]).toEqual([303, path]);
    const cookie = [...visitor.cookies].map((pair) => pair.join('=')).join('; ');
    const session = await api.request('GET', '/v1/my/session', { token: null, headers: { Cookie: cookie } });
    expect(session.body.kind).toBe('cookie');
  });

  it('shares its limit with the API', async () => {
    const { email } = await api.addUser('member');
    const path = await visitor.begin();
    const body = { user: { email, password: 'wrong' } };
    const fail = () => visitor.signIn(path, email, { password: 'wrong' });
    let answer = await fail();
    // On a slow machine, the limit has recovered a little until the page is asked. The page alone does not reach it.
    for (let n = 0; n < 8 && answer.status !== 429; n += 1) {
      const logins = Array.from({ length: 20 }, () =>
        api.request('POST', '/v1/login', { token: null, body }),
      );
      answer = await fail();
      await Promise.all(logins);
    }
    const { status, html, headers } = answer;
    expect([status, html]).toEqual([429, expect.stringContaining('There were too many requests')]);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('requires the code of a second factor', async () => {
    const { email, userJwt } = await api.addUser('owner');
    const begun = await api.request('POST', '/v1/my/user/second_factor', { token: userJwt });
    const secret = secretOfUri(String(begun.body.uri));
    const otp = codeNow(secret, -1);
    const on = await api.request('POST', '/v1/my/user/second_factor/confirm', {
      token: userJwt,
      body: { otp },
    });
    expect(on.status).toBe(200);
    const path = await visitor.begin();
    const missing = await visitor.signIn(path, email);
    expect([missing.status, missing.html]).toEqual([401, expect.stringContaining('with the code of')]);
    const wrong = await visitor.signIn(path, email, { otp: '000000' });
    expect([wrong.status, wrong.html]).toEqual([401, expect.stringContaining('The code is wrong')]);
    expect((await visitor.signIn(path, email, { otp: codeNow(secret) })).status).toBe(303);
  });

  it('lets a signed-in user sign in as another', async () => {
    const another = await api.addUser('member');
    const path = await beginSignedIn();
    expect((await visitor.open(`${path}?sign_in=another`)).html).toContain('<title>Sign in');
    await visitor.signIn(path, another.email);
    expect((await visitor.open(path)).html).toContain(`<strong>${another.email}</strong>`);
  });
});

describe('the page that asks for access', () => {
  it('names the client, where the user returns to, the account and its brands, and what is asked for', async () => {
    const { html } = await visitor.open(await beginSignedIn('mcp:read mcp:send'));
    expect(html).toContain(
      '<strong><bdi>Ann’s &lt;b&gt;helper&lt;/b&gt;</bdi></strong> <span class="mark">unverified</span>',
    );
    expect(html).toContain('<strong>127.0.0.1</strong>, a program on this computer');
    expect(html).toContain(`<strong>${api.email}</strong>`);
    expect(html).toContain('<legend>Acme (your role: owner)</legend>');
    expect(html).toContain('Send email and text messages to anyone');
    expect(html).not.toContain('Change and delete contacts');
    expect(html).not.toMatch(/<(?:img|style|iframe)|\sstyle=|https?:/);
    expect(html).not.toContain('Other Company');
  });

  it('ticks nothing in advance, and grants only what is ticked', async () => {
    expect((await visitor.open(await beginSignedIn())).html).not.toMatch(/<input[^>]* checked/);
    const { rows } = await api.database.pool.query<{ id: number }>(
      `insert into brands (account_id, company_name) values ($1, 'Second') returning id`,
      [api.accountId],
    );
    const path = await visitor.begin();
    expect((await visitor.open(path)).html).not.toMatch(/<input[^>]* checked/);
    const second = rows[0]?.id ?? 0;
    await visitor.submit(path, 'consent', { choice: `${api.accountId}-${second}` });
    expect((await grants()).map(({ choices }) => choices)).toEqual([
      [{ account_id: api.accountId, brand_id: second }],
    ]);
    await api.database.pool.query('delete from brands where id = $1', [second]);
  });

  it('leads back to the client with a code', async () => {
    const page = await visitor.submit(await beginSignedIn(), 'consent', { choice: ownBrand });
    expect(page.status).toBe(303);
    const { searchParams } = await visitor.follow(page);
    expect([searchParams.get('state'), searchParams.get('iss'), searchParams.has('code')]).toEqual([
      'the state',
      api.baseUrl,
      true,
    ]);
  });

  it('grants nothing if nothing is ticked', async () => {
    const { status, html } = await visitor.submit(await beginSignedIn(), 'consent');
    expect([status, html]).toEqual([422, expect.stringContaining('Tick at least one brand.')]);
    expect(await grants()).toEqual([]);
  });

  it('grants no brand that the user may not use', async () => {
    const { accountId, brandId } = api.other;
    const path = await beginSignedIn();
    const foreign = [`${accountId}-${brandId}`, `${api.accountId}-${brandId}`, `${api.accountId}-none`, 'x'];
    for (const choice of foreign) {
      const { status } = await visitor.submit(path, 'consent', { choice: [ownBrand, choice] });
      expect([choice, status]).toEqual([choice, 422]);
    }
    expect(await grants()).toEqual([]);
  });

  it('lets a client read mail of strangers and send only if the user ticks that, too', async () => {
    const scope = 'mcp:read mcp:send mcp:inbox';
    const allow = async (asked: string, fields: Record<string, string>, held: string[] = []) => {
      const { pool } = api.database;
      if (held.length === 0) await pool.query('delete from oauth_grants');
      else await pool.query('update oauth_grants set scopes = $1', [held]);
      await visitor.submit(await visitor.begin(asked), 'consent', { choice: ownBrand, ...fields });
      return (await grants())[0]?.scopes;
    };
    const first = await beginSignedIn(scope);
    const { html } = await visitor.open(first);
    expect(html).toContain('name="read_and_send" value="yes">');
    expect(await allow(scope, {})).toEqual(['mcp:read', 'mcp:send']);
    expect(await allow(scope, { read_and_send: 'yes' })).toEqual(['mcp:read', 'mcp:send', 'mcp:inbox']);
    expect(await allow('mcp:read mcp:inbox', {})).toEqual(['mcp:read', 'mcp:inbox']);
    // What the client was granted before counts, too.
    expect(await allow('mcp:read mcp:inbox', {}, ['mcp:send'])).toEqual(['mcp:read']);
    expect(await allow(scope, {}, ['mcp:inbox'])).toEqual(['mcp:read', 'mcp:inbox']);
    expect(await allow('mcp:read mcp:send', { read_and_send: 'yes' }, ['mcp:inbox'])).toEqual([
      'mcp:read',
      'mcp:send',
    ]);
    expect(await allow('mcp:inbox', {}, ['mcp:send'])).toEqual(['mcp:send']);
    expect(await grants()).toHaveLength(4);
  });

  it('appears at each authorization', async () => {
    await visitor.submit(await beginSignedIn(), 'consent', { choice: ownBrand });
    const again = await visitor.open(await visitor.begin());
    expect([again.status, again.html]).toEqual([
      200,
      expect.stringContaining('Allow access to your account?'),
    ]);
  });

  it('says that the user has no account', async () => {
    const { userId, email } = await api.addUser('member');
    await api.database.pool.query('delete from memberships where user_id = $1', [userId]);
    const { html } = await visitor.open(await beginSignedIn('mcp:read', email));
    expect(html).toContain('You belong to no account yet.');
    expect(html).not.toContain('/consent"');
  });

  it('records in the audit log who let a client in', async () => {
    await visitor.submit(await beginSignedIn(), 'consent', { choice: ownBrand });
    const [grant] = await grants();
    const { list } = await api.request('GET', '/v1/my/audit?action=allowOAuthClient&limit=1', {
      token: api.userJwt,
    });
    expect(list).toEqual([
      expect.objectContaining({ actor_id: api.userId, resource_id: String(grant?.id), status: 303 }),
    ]);
  });
});

describe('a user whose password was given more than 15 minutes ago', () => {
  const PASSWORD_PAGE = '<title>Give your password again – Carillon</title>';
  const sessions = async () => {
    const { rows } = await api.database.pool.query<{ id: number; isConfirmed: boolean }>(
      `select id, confirmed_at > now() - interval '1 minute' as "isConfirmed" from sessions
       where user_id = $1 and kind = 'cookie' order by id`,
      [api.userId],
    );
    return rows;
  };
  const age = () =>
    api.database.pool.query(
      "update sessions set confirmed_at = now() - interval '901 seconds' where user_id = $1",
      [api.userId],
    );
  async function beginAged(): Promise<string> {
    await api.database.pool.query("delete from sessions where user_id = $1 and kind = 'cookie'", [
      api.userId,
    ]);
    const path = await beginSignedIn();
    await age();
    return path;
  }

  it('gives it again before the request is shown, which replaces the session', async () => {
    const path = await beginAged();
    const before = await sessions();
    const { status, html } = await visitor.open(path);
    expect([status, html]).toEqual([200, expect.stringContaining(PASSWORD_PAGE)]);
    expect(html).toContain(`<strong>${api.email}</strong>`);
    const given = await visitor.submit(path, 'confirm', { password: TEST_PASSWORD });
    expect([given.status, given.location?.pathname]).toEqual([303, path]);
    const after = await sessions();
    expect(after).toEqual([{ id: expect.any(Number), isConfirmed: true }]);
    expect(after[0]?.id).not.toBe(before[0]?.id);
    const allowed = await visitor.submit(path, 'consent', { choice: ownBrand });
    expect((await visitor.follow(allowed)).searchParams.has('code')).toBe(true);
  });

  it('is granted nothing with a wrong password, or if the time runs out while the page is open', async () => {
    const path = await beginAged();
    const wrong = await visitor.submit(path, 'confirm', { password: 'wrong' });
    expect([wrong.status, wrong.html]).toEqual([401, expect.stringContaining('The password is wrong.')]);
    expect((await visitor.submit(path, 'confirm')).status).toBe(422);
    await visitor.submit(path, 'confirm', { password: TEST_PASSWORD });
    const { fields } = await visitor.fill(path);
    await age();
    const late = await visitor.post(path, 'consent', { ...fields, choice: ownBrand });
    expect([late.status, late.html]).toEqual([403, expect.stringContaining('Give your password again')]);
    expect(await grants()).toEqual([]);
  });

  it('can deny without it', async () => {
    const path = await beginAged();
    const { searchParams } = await visitor.follow(await visitor.submit(path, 'deny'));
    expect(searchParams.get('error')).toBe('access_denied');
  });

  it('shares the limit of wrong passwords with the API', async () => {
    const path = await beginAged();
    const answers = [];
    for (let n = 0; n < 60 && answers.at(-1)?.status !== 429; n += 1) {
      answers.push(await visitor.submit(path, 'confirm', { password: 'wrong' }));
    }
    expect(answers.at(-1)?.html).toContain('There were too many requests');
  });
});

describe('denying', () => {
  it('leads back to the client with an error, also before the user signs in', async () => {
    for (const begin of [() => visitor.begin(), () => beginSignedIn()]) {
      const path = await begin();
      const { searchParams } = await visitor.follow(await visitor.submit(path, 'deny'));
      expect([searchParams.get('error'), searchParams.get('state')]).toEqual(['access_denied', 'the state']);
    }
    expect(await grants()).toEqual([]);
  });
});
