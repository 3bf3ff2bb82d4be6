/** A whole Carillon, and a real Chromium that uses its console. */
import { randomBytes } from 'node:crypto';
import type { BrowserContext, Page } from 'playwright-core';
import { openDatabase } from '../../src/platform/db/database.ts';
import { createTestTenants, TEST_PASSWORD, type TestTenants } from './api.ts';
import { askService } from './ask-service.ts';
import { launchChromium } from './chromium.ts';
import { createPageIdle } from './page-idle.ts';
import type { WholeService } from './whole-service.ts';

export interface WindowOptions {
  theme?: 'light' | 'dark';
  /** In CSS pixels. */
  width?: number;
}

export interface SignInOptions extends WindowOptions {
  /** By default the owner of the first account. Their password is that of all test users. */
  email?: string;
  /** The page to open, below the brand, such as `/messages`. By default the overview. */
  at?: string;
  /** By default that of the first account. */
  brandId?: number;
}

export interface TestConsole extends Omit<TestTenants, 'signIn'> {
  service: WholeService;
  /** Opens a window in a browser profile of its own. No user is signed in. */
  newPage(options?: WindowOptions): Promise<Page>;
  /** Signs a user in at the page for it. */
  signIn(options?: SignInOptions): Promise<Page>;
  /** Opens a page of the console, below the first brand, and waits until it has loaded its data. */
  open(page: Page, path: string): Promise<void>;
  /**
   * Lets the current test cause problems that match, such as `/status of 403/`. Every other message of the console,
   * uncaught error and violation of the policy fails the test.
   */
  allow(problem: RegExp): void;
  /** @throws Error with the problems of all pages since the last call */
  requireNoProblems(): void;
}

export interface RunningConsole extends TestConsole {
  close(): Promise<void>;
}

const HEIGHT = 900;
/** For an action on a page, and for a page to load. Far more than a busy machine needs. */
const TIMEOUT_MS = 20_000;

/** Runs in each document before its own scripts. */
const REPORT_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) => {
  const { effectiveDirective, blockedURI, sourceFile, lineNumber } = event;
  reportViolation(effectiveDirective + ' blocks ' + blockedURI + ', ' + sourceFile + ':' + lineNumber);
});`;

/** An editor asks for the draft of its resource. The browser reports that there is none as an error. */
const NO_DRAFT = /status of 404 .*\/v1\/my\/drafts\/\w+\/\d+$/;

/** Records what goes wrong in the pages of a browser. */
function createWitness() {
  const problems: string[] = [];
  const allowed: RegExp[] = [];
  return {
    allow: (problem: RegExp) => void allowed.push(problem),
    requireNoProblems() {
      const found = problems.splice(0).filter((problem) => !allowed.some((pattern) => pattern.test(problem)));
      allowed.length = 0;
      if (found.length > 0) throw new Error(`problems in the browser:\n${[...new Set(found)].join('\n')}`);
    },
    async watch(context: BrowserContext): Promise<void> {
      const report = (page: Page, text: string) => void problems.push(`${text} (at ${page.url()})`);
      await context.exposeBinding('reportViolation', ({ page }, text: string) =>
        report(page, `violation of the policy: ${text}`),
      );
      await context.addInitScript({ content: REPORT_VIOLATIONS });
      context.on('page', (page) => {
        page.on('pageerror', (error) => report(page, `uncaught ${error.stack ?? error.message}`));
        page.on('crash', () => report(page, 'the page crashed'));
        page.on('console', (message) => {
          if (!['error', 'warning', 'assert'].includes(message.type())) return;
          const text = `${message.type()}: ${message.text()} ${message.location().url}`;
          if (!NO_DRAFT.test(text)) report(page, text);
        });
      });
    },
  };
}

/** Fills in the form for signing in, and sends it. */
export async function submitLogin(page: Page, email: string, password = TEST_PASSWORD): Promise<void> {
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/**
 * Starts a browser, and creates two accounts in the whole service of the run.
 * @param names of the accounts; by default others for each call
 */
export async function startConsole(names?: readonly [string, string]): Promise<RunningConsole> {
  const browser = await launchChromium();
  const service = await askService<WholeService>('whole');
  const { baseUrl } = service;
  const database = openDatabase({ url: service.databaseUrl, poolMax: 4, applicationName: 'console test' });
  const suffix = randomBytes(4).toString('hex');
  const ownNames = [`Acme ${suffix}`, `Other Company ${suffix}`] as const;
  const tenants = await createTestTenants({ database, baseUrl }, names ?? ownNames);
  const witness = createWitness();
  const idle = createPageIdle(TIMEOUT_MS);
  /** Waits until the page has asked for its data and got it. */
  const settle = async (page: Page) => {
    await page.locator('h1').first().waitFor();
    await idle.wait(page);
    await page.locator('.loading').first().waitFor({ state: 'hidden' });
  };

  const newPage = async ({ theme = 'light', width = 1280 }: WindowOptions = {}) => {
    const context = await browser.newContext({
      colorScheme: theme,
      viewport: { width, height: HEIGHT },
      baseURL: baseUrl,
    });
    context.setDefaultTimeout(TIMEOUT_MS);
    await witness.watch(context);
    idle.follow(context);
    return context.newPage();
  };
  const pathOf = (path: string, brandId = tenants.brandId) => `/brands/${brandId}${path}`;
  return {
    ...tenants,
    ...witness,
    service,
    newPage,
    async signIn({ email = tenants.email, at = '', brandId, ...window } = {}) {
      const page = await newPage(window);
      const path = pathOf(at, brandId);
      await page.goto(`/console/sign-in?return_to=${encodeURIComponent(path)}`);
      await submitLogin(page, email);
      await page.waitForURL((url) => !url.pathname.endsWith('/sign-in'));
      // The address changes before the page does.
      await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor({ state: 'detached' });
      await settle(page);
      return page;
    },
    async open(page, path) {
      await page.goto(`/console${pathOf(path)}`);
      await settle(page);
    },
    async close() {
      await browser.close();
      await database.close();
    },
  };
}
