// A form counts only if our own page sent it, for the user whom it was shown to, and only once.
import { hash } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { countGrants } from '../../../src/features/oauth/index.ts';
import { setPassword } from '../../../src/features/users/service.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, TEST_PASSWORD, type TestApi } from '../../support/api.ts';
import { type Assistant, createAssistant } from '../../support/assistant.ts';
import { runBehindLock } from '../../support/lock-order.ts';
import { createPageVisitor, type PageVisitor } from '../../support/oauth-pages.ts';

let api: TestApi;
let assistant: Assistant;
let visitor: PageVisitor;
let choice: string;
beforeAll(async () => {
  api = await startTestApi();
  assistant = await createAssistant(api);
  choice = `${api.accountId}-${api.brandId}`;
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('delete from oauth_grants');
  visitor = createPageVisitor(api, assistant);
});

const grants = async () => (await countGrants(api.database.pool, { live: true })).total;

async function beginSignedIn(): Promise<string> {
  const path = await visitor.begin();
  await visitor.signIn(path);
  return path;
}

/** Another browser, or another site in the same browser. */
function elsewhere(origin: string, cookies = visitor.cookies): PageVisitor {
  const other = createPageVisitor(api, assistant, origin);
  for (const [name, value] of cookies) other.cookies.set(name, value);
  return other;
}

describe('a form is refused', () => {
  it('from another site, although the browser sends its cookies', async () => {
    const path = await beginSignedIn();
    for (const origin of ['https://evil.test', 'null', `${api.baseUrl}0`]) {
      const evil = elsewhere(origin);
      for (const action of ['login', 'consent', 'deny'] as const) {
        const { status } = await evil.submit(path, action, {
          choice,
          email: api.email,
          password: TEST_PASSWORD,
        });
        expect([origin, action, status]).toEqual([origin, action, 403]);
      }
    }
    expect(await grants()).toBe(0);
  });

  it('without the token of its page', async () => {
    const path = await beginSignedIn();
    const { html } = await visitor.open(path);
    const token = /name="csrf" value="([^"]*)"/.exec(html)?.[1] ?? '';
    const another = await visitor.begin();
    for (const [target, csrf] of [
      [path, ''],
      [path, 'x'.repeat(43)],
      [another, token],
    ] as const) {
      const { status } = await visitor.submit(target, 'consent', { choice, csrf });
      expect([csrf, status]).not.toEqual([csrf, 303]);
    }
    expect(await grants()).toBe(0);
  });

  it('that was shown to another user', async () => {
    const member = await api.addUser('member');
    const path = await beginSignedIn();
    const { html } = await visitor.open(path);
    const csrf = /name="csrf" value="([^"]*)"/.exec(html)?.[1] ?? '';
    await visitor.signIn(path, member.email);
    const { status, html: answer } = await visitor.submit(path, 'consent', { choice, csrf });
    expect([status, answer]).toEqual([403, expect.stringContaining('Another user has signed in since.')]);
    expect(await grants()).toBe(0);
  });

  it('from a browser that did not begin the authorization', async () => {
    const path = await beginSignedIn();
    const { cookie } = await api.signIn();
    const [name = '', value = ''] = cookie.split('=');
    const victim = elsewhere(api.baseUrl, new Map([[name, value]]));
    const { status, html } = await victim.submit(path, 'consent', { choice });
    expect([status, html]).toEqual([404, expect.stringContaining('This request has ended')]);
  });

  it('for an authorization that was decided before', async () => {
    const path = await beginSignedIn();
    const { fields } = await visitor.fill(path);
    const answers = await Promise.all(
      [1, 2, 3].map(() => visitor.post(path, 'consent', { ...fields, choice })),
    );
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      303, 409, 409,
    ]);
    expect((await visitor.post(path, 'deny', fields)).status).toBe(409);
    expect(await grants()).toBe(1);
  });

  it('less than a second after the page was shown, as by the second half of a double click', async () => {
    const path = await beginSignedIn();
    const { fields } = await visitor.fill(path, { isHasty: true });
    const hasty = await visitor.post(path, 'consent', { ...fields, choice });
    expect([hasty.status, hasty.html]).toEqual([422, expect.stringContaining('Read the request first')]);
    expect(hasty.html).toContain(`value="${choice}" checked`);
    expect(await grants()).toBe(0);
    // What is shown then counts from then on.
    expect((await visitor.submit(path, 'consent', { choice })).status).toBe(303);
  });

  it('without a time that this service has signed for the page', async () => {
    const other = await visitor.fill(await beginSignedIn());
    const path = await visitor.begin();
    const { fields } = await visitor.fill(path);
    const [at = '', proof = ''] = (fields.shown ?? '').split('.');
    const times = ['', 'x', '0', `0.${proof}`, `${Number(at) - 1}.${proof}`, other.fields.shown ?? ''];
    for (const shown of times) {
      const { status } = await visitor.post(path, 'consent', { ...fields, choice, shown });
      expect([shown, status]).toEqual([shown, 422]);
    }
    expect(await grants()).toBe(0);
  });

  it('if it is larger than 64 KB', async () => {
    const path = await beginSignedIn();
    const { status, html } = await visitor.submit(path, 'consent', { choice: 'x'.repeat(70_000) });
    expect([status, html]).toEqual([413, expect.stringContaining('Something is wrong')]);
  });
});

describe('a user whose session has ended', () => {
  it('is asked to sign in, and nothing is granted', async () => {
    const path = await beginSignedIn();
    await api.database.pool.query('delete from sessions where user_id = $1', [api.userId]);
    expect((await visitor.open(path)).html).toContain('<title>Sign in');
    expect((await visitor.submit(path, 'consent', { choice })).html).toContain('<title>Sign in');
    expect(await grants()).toBe(0);
  });

  it('by a new password leaves no grant that was being made', async () => {
    const path = await beginSignedIn();
    const { pool } = api.database;
    // The consent holds its session and waits for the table; the new password then waits for the session.
    const lock = { lock: 'lock table oauth_grants in share mode', values: [] };
    const statuses: number[] = [];
    await runBehindLock(pool, lock, [
      async () => statuses.push((await visitor.submit(path, 'consent', { choice })).status),
      () => inTransaction(pool, (trx) => setPassword(trx, api.userId, TEST_PASSWORD)),
    ]);
    expect(statuses).toEqual([303]);
    expect(await grants()).toBe(0);
  });
});

describe('the pages', () => {
  it('have a policy that lets forms lead to the client and one script run, and no opener policy', async () => {
    const path = await visitor.begin();
    const before = [await visitor.open(path), await visitor.open('/oauth/interaction/unknown')];
    await visitor.signIn(path);
    const consent = await visitor.open(path);
    const script = /<script>([^]*)<\/script>/.exec(consent.html)?.[1] ?? '';
    for (const shown of [...before, consent]) {
      const named = (name: string) => shown.headers.get(name);
      const scripts = shown === consent ? ` script-src 'sha256-${hash('sha256', script, 'base64')}';` : '';
      expect(named('content-security-policy')).toBe(
        `default-src 'none'; style-src 'self';${scripts} base-uri 'none'; frame-ancestors 'none'`,
      );
      expect(shown.html.split('<script').length).toBe(shown === consent ? 2 : 1);
      expect(named('cross-origin-opener-policy')).toBeNull();
      expect(named('x-frame-options')).toBe('DENY');
      expect(named('cache-control')).toBe('no-store');
      expect(named('referrer-policy')).toBe('same-origin');
    }
  });

  it('are 404 for unknown authorizations, of which a network may name 60 in a minute', async () => {
    let answer = await visitor.open('/oauth/interaction/unknown');
    expect(answer.status).toBe(404);
    // On a slow machine, the limit recovers meanwhile.
    for (let n = 0; n < 500 && answer.status === 404; n += 20) {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, at) => visitor.open(`/oauth/interaction/unknown${n + at}`)),
      );
      answer = answers.find(({ status }) => status !== 404) ?? answer;
    }
    expect([answer.status, answer.html]).toEqual([429, expect.stringContaining('Too many requests')]);
  });
});

describe('with PUBLIC_URL', () => {
  let behind: TestApi;
  beforeAll(async () => {
    behind = await startTestApi({ env: { PUBLIC_URL: 'https://carillon.test' } });
  });
  afterAll(() => behind.close());

  /** `fetch` would replace the Host. */
  async function get(path: string, host: string, cookies: string[] = []) {
    const headers = { Host: host, Cookie: cookies.map((line) => line.split(';')[0]).join('; ') };
    const request = http.get({ port: behind.port, host: '127.0.0.1', path, headers });
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    return { status: response.statusCode, headers: response.headers, html: await text(response) };
  }

  it('the pages are 404 at any other host, such as that of tracked links', async () => {
    await behind.database.pool.query('insert into oauth_clients (id, metadata) values ($1, $2)', [
      'known',
      await metadataOf(assistant),
    ]);
    const { pathname, search } = assistant.authorizationUrl({
      client_id: 'known',
      resource: 'https://carillon.test/mcp',
    });
    expect((await get(pathname + search, 'links.carillon.test')).status).toBe(404);
    const begun = await get(pathname + search, 'carillon.test');
    expect([begun.status, begun.headers.location]).toEqual([
      303,
      expect.stringContaining('/oauth/interaction/'),
    ]);
    const page = new URL(begun.headers.location ?? '', 'https://carillon.test').pathname;
    const cookies = begun.headers['set-cookie'] ?? [];
    expect((await get(page, 'carillon.test', cookies)).status).toBe(200);
    for (const host of ['links.carillon.test', `127.0.0.1:${behind.port}`]) {
      expect([host, (await get(page, host, cookies)).status]).toEqual([host, 404]);
    }
  });
});

async function metadataOf({ clientId }: Assistant): Promise<unknown> {
  const { rows } = await api.database.pool.query<{ metadata: unknown }>(
    'select metadata from oauth_clients where id = $1',
    [clientId],
  );
  return rows[0]?.metadata;
}
