// A cookie counts only at our own host, and changes nothing unless one of our pages sends the request.
import { request, type IncomingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, TEST_PASSWORD, type CookieSession, type TestApi } from '../../support/api.ts';

let api: TestApi;
let session: CookieSession;
beforeAll(async () => {
  api = await startTestApi();
  session = await api.signIn();
});
afterAll(() => api.close());

type Headers = Record<string, string>;
const ask = (headers: Headers, method = 'GET', path = '/v1/my/session') =>
  api.request(method, path, { token: null, headers, ...(method === 'GET' ? {} : { body: {} }) });
const logIn = (headers: Headers, body: object = {}) =>
  api.request('POST', '/v1/login', {
    token: null,
    headers,
    body: { user: { email: api.email, password: TEST_PASSWORD }, session: 'cookie', ...body },
  });

/** A request to any host name that leads here: `fetch` sends no other Host than that of the URL. */
function askAt(
  port: number,
  headers: Headers,
  path = '/v1/my/session',
  body?: object,
): Promise<{ status: number; headers: IncomingHttpHeaders }> {
  return new Promise((resolve, reject) => {
    const method = body ? 'POST' : 'GET';
    const type: Headers = body ? { 'Content-Type': 'application/json' } : {};
    const sent = request({ host: '127.0.0.1', port, method, path, headers: { ...type, ...headers } });
    sent.on('error', reject).on('response', (response) => {
      response.resume().on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers });
      });
    });
    sent.end(body && JSON.stringify(body));
  });
}

async function expire(change: string): Promise<number> {
  const mine = await api.signIn();
  const { body } = await ask(mine.headers);
  await api.database.pool.query(`update sessions set ${change} where id = $1`, [body.id]);
  return (await ask(mine.headers)).status;
}

describe('a sign-in with a cookie', () => {
  it('sets a cookie for this port, which scripts cannot read, and gives no token', async () => {
    const answer = await logIn({ Origin: api.baseUrl });
    const [cookie, ...attributes] = (answer.headers.get('set-cookie') ?? '').split('; ');
    expect(cookie).toMatch(new RegExp(`^carillon_${api.port}=[\\w-]{43}$`));
    expect(attributes.sort()).toEqual([
      'HttpOnly',
      expect.stringMatching(/^Max-Age=12095\d\d|^Max-Age=1209600/),
      'Path=/',
      'SameSite=Lax',
    ]);
    expect(answer.headers.get('authorization')).toBeNull();
    expect(answer.headers.get('x-csrf-token')).toMatch(/^[\w-]{43}$/);
  });

  it.each([
    ['no Origin', {}],
    ['another Origin', { Origin: 'https://evil.test' }],
    ['an opaque Origin', { Origin: 'null' }],
    ['another port', { Origin: 'http://127.0.0.1:1' }],
  ])('is refused with %s', async (_what, headers) => {
    const answer = await logIn(headers);
    expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
    expect(answer.headers.get('set-cookie')).toBeNull();
  });

  it('gives a new session, whatever cookie the browser had (session fixation)', async () => {
    const planted = `carillon_${api.port}=${'A'.repeat(43)}`;
    const answer = await logIn({ Origin: api.baseUrl, Cookie: planted });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('set-cookie')).not.toContain('AAAA');
    expect((await ask({ Cookie: planted })).status).toBe(401);
    const { cookie } = await api.signIn();
    const again = await logIn({ Origin: api.baseUrl, Cookie: cookie });
    expect(again.headers.get('set-cookie')?.startsWith(cookie)).toBe(false);
    expect((await ask({ Cookie: cookie })).status).toBe(401);
  });

  it('stores only the hash of the cookie', async () => {
    const secret = session.cookie.split('=')[1];
    const { rows } = await api.database.pool.query<{ text: string }>(
      'select sessions::text as text from sessions',
    );
    expect(rows.length).toBeGreaterThan(0);
    for (const { text } of rows) expect(text).not.toContain(secret);
  });

  it.each(['/console', '/console/campaigns?x=1#y', '/'])('returns to the path %s', async (path) => {
    const answer = await logIn({ Origin: api.baseUrl }, { return_to: path });
    expect([answer.status, answer.headers.get('x-return-to')]).toEqual([200, path]);
  });

  it.each([
    ...[
      'https://evil.test',
      '//evil.test',
      '/\\evil.test',
      '/\t/evil.test',
      '/\u0000/evil.test',
      '\\/evil.test',
    ],
    ...[
      '/..//evil.test',
      '/./\\evil.test',
      'javascript:alert(1)',
      'console',
      '',
      ' /console',
      '/%0d%0aX: y\r\nA: b',
    ],
  ])('does not return to %j', async (path) => {
    const answer = await logIn({ Origin: api.baseUrl }, { return_to: path });
    expect([answer.status, Object.keys(answer.body.validation_errors ?? {})]).toEqual([422, ['return_to']]);
    expect(answer.headers.get('set-cookie')).toBeNull();
  });
});

describe('a cookie', () => {
  it('acts for its user, who gets the CSRF token from the session', async () => {
    const answer = await ask({ Cookie: session.cookie });
    expect([answer.status, answer.body.kind]).toEqual([200, 'cookie']);
    expect(answer.headers.get('x-csrf-token')).toBe(session.csrfToken);
    expect((await ask({ Cookie: session.cookie }, 'GET', '/v1/my/account')).body.id).toBe(api.accountId);
  });

  it('is ignored with Authorization, even a wrong one', async () => {
    const other = await ask(
      { Cookie: session.cookie, Authorization: `Bearer ${api.other.apiKey}` },
      'GET',
      '/v1/my/account',
    );
    expect(other.body.id).toBe(api.other.accountId);
    for (const wrong of ['Bearer nonsense', 'Basic x', '']) {
      expect([wrong, (await ask({ Cookie: session.cookie, Authorization: wrong })).status]).toEqual([
        wrong,
        401,
      ]);
    }
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
    'changes nothing by %s without Origin and CSRF token',
    async (method) => {
      const foreign = await api.signIn((await api.addUser('member')).email);
      const { Cookie, Origin } = session.headers;
      const bad: Headers[] = [
        { Cookie },
        { Cookie, Origin },
        { Cookie, 'X-CSRF-Token': session.csrfToken },
        { Cookie, Origin: 'https://evil.test', 'X-CSRF-Token': session.csrfToken },
        { Cookie, Origin: `${Origin}.evil.test`, 'X-CSRF-Token': session.csrfToken },
        { Cookie, Origin: 'null', 'X-CSRF-Token': session.csrfToken },
        { Cookie, Origin, 'X-CSRF-Token': '' },
        { Cookie, Origin, 'X-CSRF-Token': foreign.csrfToken },
        { Cookie, Origin, 'X-CSRF-Token': `${session.csrfToken.slice(0, -2)}AA` },
      ];
      const routes = api.routes.filter(
        ({ auth, ...route }) => auth !== 'none' && auth !== 'grant' && route.method === method,
      );
      expect(routes.length).toBeGreaterThan(0);
      for (const route of routes) {
        const path = route.path.replaceAll(/:\w+/g, '1');
        const all = route === routes[0] ? bad : bad.slice(0, 1);
        for (const headers of all) {
          const answer = await ask(headers, method, path);
          expect([route.operationId, answer.status, answer.body.code]).toEqual([
            route.operationId,
            403,
            'forbidden',
          ]);
        }
      }
      expect((await ask({ Cookie })).status).toBe(200);
    },
  );

  it('changes what its user asks for from our own page', async () => {
    const { email } = await api.addUser('member');
    const mine = await api.signIn(email);
    const answer = await api.request('PATCH', '/v1/my/user', {
      token: null,
      headers: mine.headers,
      body: { first_name: 'Ada' },
    });
    expect([answer.status, answer.body.first_name]).toEqual([200, 'Ada']);
  });

  it('is replaced when the user gives the password again', async () => {
    const mine = await api.signIn();
    const answer = await api.request('POST', '/v1/my/session/confirm', {
      token: null,
      headers: mine.headers,
      body: { password: TEST_PASSWORD },
    });
    expect(answer.status).toBe(200);
    const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
    expect([(await ask({ Cookie: mine.cookie })).status, (await ask({ Cookie: cookie })).status]).toEqual([
      401, 200,
    ]);
    expect(answer.headers.get('x-csrf-token')).not.toBe(mine.csrfToken);
  });

  it('is removed from the browser by a logout, and refused afterwards', async () => {
    const mine = await api.signIn();
    const answer = await api.request('POST', '/v1/logout', { token: null, headers: mine.headers });
    expect(answer.headers.get('set-cookie')).toBe(
      `carillon_${api.port}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax`,
    );
    expect((await ask({ Cookie: mine.cookie })).status).toBe(401);
  });

  it('ends after twelve hours without a request, and after fourteen days', async () => {
    expect(await expire(`last_used_at = now() - interval '11 hours 59 minutes'`)).toBe(200);
    expect(await expire(`last_used_at = now() - interval '12 hours'`)).toBe(401);
    expect(await expire(`expires_at = now()`)).toBe(401);
    const { rows } = await api.database.pool.query<{ days: number }>(
      `select extract(day from expires_at - created_at)::int as days from sessions where kind = 'cookie' limit 1`,
    );
    expect(rows[0]?.days).toBe(14);
  });

  it('of another name or form is not looked up', async () => {
    const secret = session.cookie.split('=')[1] ?? '';
    for (const cookie of [
      `carillon=${secret}`,
      `__Host-carillon=${secret}`,
      `carillon_${api.port}=${secret}x`,
    ]) {
      expect([cookie, (await ask({ Cookie: cookie })).status]).toEqual([cookie, 401]);
    }
  });

  it('counts at this machine’s names only', async () => {
    const name = `carillon_${api.port}`;
    const [, secret] = session.cookie.split('=');
    for (const host of [
      `links.acme.test:${api.port}`,
      'evil.test',
      `user@127.0.0.1:${api.port}`,
      `127.0.0.1.evil.test:${api.port}`,
    ]) {
      const answer = await askAt(api.port, { Cookie: `${name}=${secret}`, Host: host });
      expect([host, answer.status]).toEqual([host, 401]);
    }
    const here = await askAt(api.port, { Cookie: `${name}=${secret}`, Host: `localhost:${api.port}` });
    expect(here.status).toBe(200);
  });
});

describe('with a PUBLIC_URL', () => {
  let own: TestApi;
  beforeAll(async () => {
    own = await startTestApi({ env: { PUBLIC_URL: 'https://mail.acme.test' } });
  });
  afterAll(() => own.close());

  const at = (host: string) =>
    askAt(own.port, { Host: host, Origin: 'https://mail.acme.test' }, '/v1/login', {
      user: { email: own.email, password: TEST_PASSWORD },
      session: 'cookie',
    });

  it('the cookie is bound to that host, and counts at no other that leads here', async () => {
    const answer = await at('mail.acme.test');
    const [cookie = '', ...attributes] = (answer.headers['set-cookie']?.[0] ?? '').split('; ');
    expect(cookie).toMatch(/^__Host-carillon=/);
    expect(attributes).toEqual(expect.arrayContaining(['Path=/', 'HttpOnly', 'Secure', 'SameSite=Lax']));
    expect(attributes.some((each) => each.startsWith('Domain'))).toBe(false);
    const statusAt = async (host: string) => (await askAt(own.port, { Cookie: cookie, Host: host })).status;
    expect([await statusAt('mail.acme.test'), await statusAt('mail.acme.test:443')]).toEqual([200, 200]);
    for (const host of [
      'links.acme.test',
      'mail.acme.test:8443',
      'mail.acme.test.evil.test',
      `127.0.0.1:${own.port}`,
    ]) {
      expect([host, await statusAt(host)]).toEqual([host, 401]);
      expect([host, (await at(host)).status]).toEqual([host, 403]);
    }
  });

  it('responses cannot be framed, sniffed or cached', async () => {
    const { headers } = await own.request('GET', '/v1/my/session', { token: own.userJwt });
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('strict-transport-security')).toContain('max-age=');
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });
});

it('a cookie is impossible over http on a host that is not this machine', async () => {
  const plain = await startTestApi({ env: { PUBLIC_URL: 'http://mail.acme.test' } });
  try {
    const headers = { Host: 'mail.acme.test', Origin: 'http://mail.acme.test' };
    const user = { email: plain.email, password: TEST_PASSWORD };
    const answer = await askAt(plain.port, headers, '/v1/login', { user, session: 'cookie' });
    expect([answer.status, answer.headers['set-cookie']]).toEqual([403, undefined]);
  } finally {
    await plain.close();
  }
});
