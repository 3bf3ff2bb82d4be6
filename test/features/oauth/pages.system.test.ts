// In real Chromium: the pages need only a keyboard, pass axe in both themes, and lead back to clients of every kind.
import { hash, randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import axe from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { listGrants } from '../../../src/features/oauth/index.ts';
import { startTestApi, TEST_PASSWORD, type TestApi } from '../../support/api.ts';
import { launchChromium } from '../../support/chromium.ts';
import { eventually } from '../../support/eventually.ts';
import { type Receiver, startReceiver } from '../../support/https-receiver.ts';
import { testsThatNeed } from '../../support/tests-that-need.ts';

const { describe, beforeAll, afterAll } = testsThatNeed('chromium');

const ALL_SCOPES = 'mcp:read mcp:write mcp:send mcp:inbox';

let api: TestApi;
let loopback: Receiver;
let website: Receiver;
let browser: Browser;
/** A profile, in which a user stays signed in. */
let profile: BrowserContext;
beforeAll(async () => {
  api = await startTestApi();
  loopback = await startReceiver({ plain: true });
  website = await startReceiver();
  browser = await launchChromium({ args: ['--host-resolver-rules=MAP client.test 127.0.0.1'] });
  profile = await browser.newContext({ ignoreHTTPSErrors: true });
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

const MAX_TABS = 100;

/** Presses Tab until an element that matches has the focus. */
async function tabTo(page: Page, selector: string): Promise<void> {
  const focused = page.locator(`${selector}:focus`);
  for (let n = 0; n < MAX_TABS; n += 1) {
    if ((await focused.count()) > 0) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`no Tab leads to ${selector}`);
}

async function signIn(page: Page, password = TEST_PASSWORD): Promise<void> {
  await tabTo(page, '#email');
  await page.keyboard.type(api.email);
  await tabTo(page, '#password');
  await page.keyboard.type(password);
  await page.keyboard.press('Enter');
}

const titleOf = (text: string) => `${text} – Carillon`;
/** Playwright's own wait would evaluate text in the page, which its policy forbids. */
const titled = (page: Page, text: string) =>
  eventually(async () => expect(await page.title()).toBe(titleOf(text)));
const CONSENT = 'Allow access to your account?';

/** Opens an authorization, and signs in unless the browser still is. */
async function openConsent(redirectUri: string, scope?: string): Promise<Page> {
  const page = await profile.newPage();
  await page.goto(await authorizationUrl(redirectUri, scope));
  if ((await page.title()) !== titleOf(CONSENT)) await signIn(page);
  await titled(page, CONSENT);
  return page;
}

const ALLOW = 'form[action$="/consent"] button';
const isReady = (page: Page) =>
  eventually(async () => expect(await page.getAttribute(ALLOW, 'aria-disabled')).toBe('false'));

/** Presses the button that allows access, once it works. */
async function allow(page: Page): Promise<void> {
  await tabTo(page, ALLOW);
  await isReady(page);
  await page.keyboard.press('Enter');
}

async function consent(page: Page): Promise<void> {
  await tabTo(page, 'input[name="choice"]');
  await page.keyboard.press('Space');
  await allow(page);
}

/** What axe finds in both themes. */
async function findings(page: Page): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme });
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
    const problems: string[] = [];
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    await consent(page);
    await page.waitForURL(/\/callback\?/);
    const { searchParams } = new URL(page.url());
    expect([searchParams.get('state'), searchParams.get('iss'), searchParams.has('code')]).toEqual([
      'the state',
      api.baseUrl,
      true,
    ]);
    expect(problems).toEqual([]);
  });

  it('lead by keyboard alone back to an application with a scheme of its own', async () => {
    const page = await openConsent('com.example.assistant:/callback');
    const opened = page.waitForEvent('request', (each) =>
      /^com\.example\.assistant:\/callback\?code=/.test(each.url()),
    );
    await consent(page);
    await opened;
  });
});

describe('a click that the user did not mean', () => {
  const redirectUri = () => `http://127.0.0.1:${loopback.port}/callback`;
  const CHOICE = 'input[name="choice"]';
  const grants = async () =>
    (
      await listGrants(
        api.database.pool,
        { userId: api.userId },
        { number: 1, limit: 1, offset: 0, after: null },
      )
    )[0]?.id;
  const setFocus = (page: Page, hasFocus: boolean) =>
    page.evaluate(
      `document.hasFocus = () => ${hasFocus}; dispatchEvent(new Event('${hasFocus ? 'focus' : 'blur'}'))`,
    );

  it('allows nothing while the page was just shown, or while its window does not have the focus', async () => {
    const before = await grants();
    const page = await openConsent(redirectUri());
    const sent: string[] = [];
    page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()));
    // Playwright would wait until the button works.
    const press = () => page.click(ALLOW, { force: true });
    await page.click(CHOICE);
    await press();
    await isReady(page);
    await setFocus(page, false);
    await press();
    await page.focus(CHOICE);
    await page.keyboard.press('Enter');
    await setFocus(page, true);
    await press();
    await isReady(page);
    expect([sent, await grants()]).toEqual([[], before]);
    await press();
    await page.waitForURL(/\/callback\?/);
    expect(await grants()).not.toBe(before);
  });

  it('allows nothing at once without scripts, either, but later', async () => {
    const plain = await browser.newContext({ javaScriptEnabled: false });
    const page = await plain.newPage();
    await page.goto(await authorizationUrl(redirectUri()));
    await signIn(page);
    await page.click(CHOICE);
    await page.click(ALLOW);
    await page.getByRole('alert').getByText('Read the request first').waitFor();
    const pressAgain = async () => {
      await page.click(ALLOW);
      expect(page.url()).toMatch(/\/callback\?/);
    };
    await eventually(pressAgain, 30_000, 1_100);
    await plain.close();
  });
});

describe('by keyboard alone', () => {
  const redirectUri = () => `http://127.0.0.1:${loopback.port}/callback`;

  it('a user ticks what is granted', async () => {
    const page = await openConsent(redirectUri(), ALL_SCOPES);
    await tabTo(page, 'input[name="choice"]');
    await page.keyboard.press('Space');
    await tabTo(page, 'input[name="read_and_send"]');
    await page.keyboard.press('Space');
    await allow(page);
    await page.waitForURL(/\/callback\?/);
    const newest = { number: 1, limit: 1, offset: 0, after: null };
    const [grant] = await listGrants(api.database.pool, { userId: api.userId }, newest);
    expect(grant?.scopes).toEqual(ALL_SCOPES.split(' '));
  });

  it('a user denies access', async () => {
    const page = await openConsent(redirectUri());
    await tabTo(page, 'form[action$="/deny"] button');
    await page.keyboard.press('Space');
    await page.waitForURL(/\/callback\?error=access_denied/);
  });

  it('a user sees where the focus is, on everything that can be used', async () => {
    const page = await openConsent(redirectUri(), ALL_SCOPES);
    const places = await page.evaluate<number>(
      'document.querySelectorAll("a, button, input:not([type=hidden])").length',
    );
    for (let n = 0; n < places; n += 1) {
      await page.keyboard.press('Tab');
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
    const page = await profile.newPage();
    await page.goto(await authorizationUrl(redirectUri()));
    if ((await page.title()) === titleOf(CONSENT)) {
      await tabTo(page, 'a[href*="sign_in"]');
      await page.keyboard.press('Enter');
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
    await allow(page);
    await titled(page, `Error: ${CONSENT}`);
    expect(await findings(page)).toEqual([]);
  });

  it('on the page that asks for the password again', async () => {
    const page = await openConsent(redirectUri());
    await api.database.pool.query("update sessions set confirmed_at = now() - interval '901 seconds'");
    await page.reload();
    await titled(page, 'Give your password again');
    expect(await findings(page)).toEqual([]);
    await tabTo(page, '#password');
    await page.keyboard.type(TEST_PASSWORD);
    await page.keyboard.press('Enter');
    await titled(page, CONSENT);
  });

  it('on the page that says what is wrong', async () => {
    const page = await profile.newPage();
    await page.goto(`${api.baseUrl}/oauth/interaction/unknown`);
    await titled(page, 'This request has ended');
    expect(await findings(page)).toEqual([]);
  });
});
