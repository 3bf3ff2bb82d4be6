// In real Chromium: the pages need only a keyboard, pass axe in both themes, and lead back to clients of every kind.
import { hash, randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import axe from 'axe-core';
import { listGrants } from '../../../src/features/oauth/service.ts';
import { startTestApi, TEST_PASSWORD, type TestApi } from '../../support/api.ts';
import { type Browser, type BrowserPage, startBrowser } from '../../support/browser.ts';
import { type Receiver, startReceiver } from '../../support/https-receiver.ts';
import { testsThatNeed } from '../../support/tests-that-need.ts';

const { describe, beforeAll, afterAll } = testsThatNeed('chromium');

const ALL_SCOPES = 'mcp:read mcp:write mcp:send mcp:inbox';

let api: TestApi;
let loopback: Receiver;
let website: Receiver;
let browser: Browser;
beforeAll(async () => {
  api = await startTestApi();
  loopback = await startReceiver({ plain: true });
  website = await startReceiver();
  browser = await startBrowser([
    '--host-resolver-rules=MAP client.test 127.0.0.1',
    '--ignore-certificate-errors',
  ]);
});
afterAll(async () => {
  await browser.close();
  await loopback.close();
  await website.close();
  await api.close();
});

/** Registers a client. @returns the URL that begins an authorization */
async function authorizationUrl(redirectUri: string, scope = 'mcp:read'): Promise<string> {
  const { body, status, text } = await api.request('POST', '/oauth/register', {
    token: null,
    body: { client_name: 'My assistant', redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' },
  });
  if (status !== 201) throw new Error(text);
  const query = new URLSearchParams({
    client_id: String(body.client_id),
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: hash('sha256', randomBytes(32).toString('base64url'), 'base64url'),
    code_challenge_method: 'S256',
    state: 'the state',
    scope,
  });
  return `${api.baseUrl}/oauth/authorize?${query.toString()}`;
}

async function signIn(page: BrowserPage, password = TEST_PASSWORD): Promise<void> {
  await page.tabTo('#email');
  await page.type(api.email);
  await page.tabTo('#password');
  await page.type(password);
  await page.press('Enter');
}

const title = (page: BrowserPage) => page.evaluate<string>('document.title');
const titled = (page: BrowserPage, text: string) =>
  page.waitFor(`document.title === ${JSON.stringify(`${text} – Carillon`)}`);
const CONSENT = 'Allow access to your account?';

/** Opens an authorization, and signs in unless the browser still is. */
async function openConsent(redirectUri: string, scope?: string): Promise<BrowserPage> {
  const page = await browser.newPage();
  await page.open(await authorizationUrl(redirectUri, scope));
  if ((await title(page)) !== `${CONSENT} – Carillon`) await signIn(page);
  await titled(page, CONSENT);
  return page;
}

/** What axe finds in both themes. */
async function findings(page: BrowserPage): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const theme of ['light', 'dark'] as const) {
    await page.setTheme(theme);
    await page.evaluate(`${axe.source}; undefined`);
    const violations = await page.evaluate<unknown[]>(
      `axe.run(document, { preload: false }).then(({ violations }) =>
         violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.map(({ html, failureSummary }) => [html, failureSummary]) })))`,
    );
    found.push(...violations.map((violation) => ({ theme, violation })));
  }
  return found;
}

describe('the pages', () => {
  it.each([
    ['a program on this computer', () => `http://127.0.0.1:${loopback.port}/callback`],
    ['a website', () => `https://client.test:${website.port}/callback`],
  ])('lead by keyboard alone back to %s', async (_kind, redirectUri) => {
    const page = await openConsent(redirectUri());
    await page.tabTo('form[action$="/consent"] button');
    await page.press('Enter');
    await page.arriveAt(/\/callback\?/);
    const { searchParams } = new URL(await page.evaluate<string>('location.href'));
    expect([searchParams.get('state'), searchParams.get('iss'), searchParams.has('code')]).toEqual([
      'the state',
      api.baseUrl,
      true,
    ]);
    expect(page.problems).toEqual([]);
  });

  it('lead by keyboard alone back to an application with a scheme of its own', async () => {
    const page = await openConsent('com.example.assistant:/callback');
    await page.tabTo('form[action$="/consent"] button');
    await page.press('Enter');
    await page.navigatesTo(/^com\.example\.assistant:\/callback\?code=/);
  });
});

describe('by keyboard alone', () => {
  const redirectUri = () => `http://127.0.0.1:${loopback.port}/callback`;

  it('a user ticks what is granted', async () => {
    const page = await openConsent(redirectUri(), ALL_SCOPES);
    await page.tabTo('input[name="read_and_send"]');
    await page.press('Space');
    await page.tabTo('form[action$="/consent"] button');
    await page.press('Enter');
    await page.arriveAt(/\/callback\?/);
    const newest = { number: 1, limit: 1, offset: 0, after: null };
    const [grant] = await listGrants(api.database.pool, { userId: api.userId }, newest);
    expect(grant?.scopes).toEqual(ALL_SCOPES.split(' '));
  });

  it('a user denies access', async () => {
    const page = await openConsent(redirectUri());
    await page.tabTo('form[action$="/deny"] button');
    await page.press('Space');
    await page.arriveAt(/\/callback\?error=access_denied/);
  });

  it('a user sees where the focus is, on everything that can be used', async () => {
    const page = await openConsent(redirectUri(), ALL_SCOPES);
    const places = await page.evaluate<number>(
      'document.querySelectorAll("a, button, input:not([type=hidden])").length',
    );
    for (let n = 0; n < places; n += 1) {
      await page.press('Tab');
      const focused =
        '(({ outlineStyle, outlineWidth }) => [outlineStyle, outlineWidth])(getComputedStyle(document.activeElement))';
      expect(await page.evaluate(focused)).toEqual(['solid', '3px']);
    }
    expect(places).toBe(5);
  });
});

describe('axe finds nothing', () => {
  const redirectUri = () => `http://127.0.0.1:${loopback.port}/callback`;

  it('on the page that asks to sign in, before and after an error', async () => {
    const page = await browser.newPage();
    await page.open(`${await authorizationUrl(redirectUri())}`);
    if ((await title(page)) === `${CONSENT} – Carillon`) {
      await page.tabTo('a[href*="sign_in"]');
      await page.press('Enter');
    }
    await titled(page, 'Sign in');
    expect(await findings(page)).toEqual([]);
    await signIn(page, 'wrong');
    await titled(page, 'Error: Sign in');
    expect(await page.evaluate('document.activeElement.getAttribute("role")')).toBe('alert');
    expect(await findings(page)).toEqual([]);
  });

  it('on the page that asks for access, before and after an error', async () => {
    const page = await openConsent(redirectUri(), ALL_SCOPES);
    expect(await findings(page)).toEqual([]);
    await page.tabTo('input[name="choice"]');
    await page.press('Space');
    await page.tabTo('form[action$="/consent"] button');
    await page.press('Enter');
    await titled(page, `Error: ${CONSENT}`);
    expect(await findings(page)).toEqual([]);
  });

  it('on the page that says what is wrong', async () => {
    const page = await browser.newPage();
    await page.open(`${api.baseUrl}/oauth/interaction/unknown`);
    await titled(page, 'This request has ended');
    expect(await findings(page)).toEqual([]);
  });
});
