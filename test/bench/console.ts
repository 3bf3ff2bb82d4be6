import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core';
import { provideConsole } from '../../src/local/console/build.ts';
import { PROJECT } from '../../src/local/console/bundle-files.ts';
import { findChromium } from '../support/tools.ts';
import { fillWithEvents } from './events-fill.ts';
import { median, percentile, rounded } from './machine.ts';
import { waitForApi } from './messages.ts';
import { startRole } from './programs.ts';
import { fillAccounts, fillMessages, type Filling } from './size-fill.ts';
import { OWNER, openStage, type Stage } from './stage.ts';

export interface ConsoleBenchOptions extends Pick<Filling, 'messages' | 'accounts'> {
  contacts: number;
  /** Number of visits of each kind, each by a new browser context. */
  visits: number;
}

const REQUESTS_PER_PATH = 60;
const PAGE_SIZE = 100;
/** As fast as a cheap phone on a slow line. */
const SLOWER_CPU = 4;
const BYTES_PER_SECOND = 10_000_000 / 8;
const LATENCY_MS = 20;
const SCROLL_STEPS = 60;
const SCROLL_PX = 400;

/** The requests of the pages of lists: the first page, page 1,000, and each filter that an index serves. */
const PATHS = [
  '/messages',
  '/messages?page=1000',
  '/messages?status=failed',
  '/messages?channel=sms',
  '/messages?to=recipient40%40example.com',
  '/messages?subject=Your%20receipt%2040',
  '/contacts',
  '/contacts?page=1000',
  '/contacts?email=contact40%40example.com',
  '/contacts?search=contact40',
  '/contacts?subscribed=true',
  '/contacts?verification_status=verified',
  '/campaigns',
  '/suppressions',
  '/stats',
  '/delivery/status',
];

async function p95Of(stage: Stage, path: string): Promise<number> {
  const times: number[] = [];
  const url = `http://127.0.0.1:${stage.apiPort}/v1/my${path}${path.includes('?') ? '&' : '?'}limit=${PAGE_SIZE}`;
  const isList = !/stats|status$/.test(path);
  for (let n = 0; n < REQUESTS_PER_PATH; n++) {
    const startedAt = performance.now();
    const answer = await fetch(isList ? url : url.replace(/[?&]limit=\d+/, ''), {
      headers: { Authorization: `Bearer ${stage.apiKey}` },
    });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${path} returned ${answer.status}`);
    times.push(performance.now() - startedAt);
  }
  return rounded(percentile(times, 0.95));
}

/** A page of a browser that has cached nothing, as slow as asked for. */
async function openPage(browser: Browser, slow: boolean): Promise<{ page: Page; cdp: CDPSession }> {
  const page = await (await browser.newContext()).newPage();
  const cdp = await page.context().newCDPSession(page);
  if (slow) {
    await cdp.send('Emulation.setCPUThrottlingRate', { rate: SLOWER_CPU });
    await cdp.send('Network.enable');
    await cdp.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: LATENCY_MS,
      downloadThroughput: BYTES_PER_SECOND,
      uploadThroughput: BYTES_PER_SECOND,
    });
  }
  return { page, cdp };
}

const signInUrl = (stage: Stage, to: string) =>
  `http://127.0.0.1:${stage.apiPort}/console/sign-in?return_to=${encodeURIComponent(to)}`;

async function signIn(page: Page, stage: Stage, to: string): Promise<void> {
  await page.goto(signInUrl(stage, to));
  await page.getByLabel('Email address').fill(OWNER.email);
  await page.getByLabel('Password').fill(OWNER.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1 }).and(page.locator('#content *')).waitFor();
}

/** In the page: ms until its first text or picture. */
const FIRST_PAINT = `new Promise((resolve) =>
  new PerformanceObserver((list) => {
    const paint = list.getEntriesByName('first-contentful-paint')[0];
    if (paint) resolve(paint.startTime);
  }).observe({ type: 'paint', buffered: true }))`;

/** In the page: collects tasks that keep it from reacting; a long task lasts more than 50 ms. */
const WATCH_TASKS = `globalThis.longTasks = [];
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longTasks.push(duration);
  }).observe({ type: 'longtask' });`;

const NEXT_FRAME = 'new Promise((resolve) => requestAnimationFrame(resolve))';

/** In the page: ms since it was opened. */
const NOW = 'performance.now()';

/**
 * The sign-in page without a cache, and the overview for a user who comes back: the first paint, and when the page can be
 * used.
 */
async function paints(browser: Browser, stage: Stage) {
  const { page } = await openPage(browser, true);
  try {
    await page.goto(signInUrl(stage, '/'));
    await page.getByLabel('Password').waitFor();
    const signInUsableMs = await page.evaluate<number>(NOW);
    const signInMs = await page.evaluate<number>(FIRST_PAINT);
    await signIn(page, stage, `/brands/${stage.brandId}`);
    const heading = page.getByRole('heading', { name: 'Overview' });
    await heading.waitFor();
    await page.reload();
    await heading.waitFor();
    const overviewUsableMs = await page.evaluate<number>(NOW);
    return {
      sign_in_ms: signInMs,
      overview_ms: await page.evaluate<number>(FIRST_PAINT),
      signInUsableMs,
      overviewUsableMs,
    };
  } finally {
    await page.context().close();
  }
}

/** Scrolls through the first page of messages. */
async function scrolling(browser: Browser, stage: Stage) {
  const { page } = await openPage(browser, false);
  try {
    await signIn(page, stage, `/brands/${stage.brandId}/messages`);
    const rows = page.locator('#content tbody tr');
    await rows.nth(10).waitFor();
    await page.evaluate(WATCH_TASKS);
    await page.locator('.table-frame').hover();
    let mostRows = 0;
    for (let step = 0; step < SCROLL_STEPS; step++) {
      await page.mouse.wheel(0, step < SCROLL_STEPS / 2 ? SCROLL_PX : -SCROLL_PX);
      await page.evaluate(NEXT_FRAME);
      mostRows = Math.max(mostRows, await rows.count());
    }
    const longTasks = await page.evaluate<number[]>('longTasks');
    return { rows: mostRows, long_tasks: longTasks.length, longest_task_ms: Math.max(0, ...longTasks) };
  } finally {
    await page.context().close();
  }
}

async function visitsOf(stage: Stage, visits: number) {
  const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] });
  const painted = [];
  const scrolled = [];
  try {
    for (let n = 0; n < visits; n++) {
      painted.push(await paints(browser, stage));
      scrolled.push(await scrolling(browser, stage));
    }
  } finally {
    await browser.close();
  }
  return {
    first_paint: {
      sign_in_ms: rounded(median(painted.map((each) => each.sign_in_ms))),
      overview_ms: rounded(median(painted.map((each) => each.overview_ms))),
      sign_in_usable_ms: rounded(median(painted.map((each) => each.signInUsableMs))),
      overview_usable_ms: rounded(median(painted.map((each) => each.overviewUsableMs))),
    },
    scrolling: {
      most_rows: Math.max(...scrolled.map(({ rows }) => rows)),
      tasks_over_50_ms: scrolled.reduce((sum, each) => sum + each.long_tasks, 0),
      longest_task_ms: rounded(Math.max(...scrolled.map((each) => each.longest_task_ms))),
    },
  };
}

/** `npm run bench -- console`: what a person waits for, over many messages and contacts. */
export async function benchConsole(options: ConsoleBenchOptions) {
  await provideConsole({ project: PROJECT, progress: (text) => process.stderr.write(`${text}\n`) });
  const stage = await openStage();
  try {
    await fillAccounts(stage, options.accounts);
    await fillWithEvents(stage, { contacts: options.contacts, events: 0 });
    await fillMessages(stage, { ...options, queued: 0, queuedAccounts: 0, contentShare: 0.1 });
    const api = startRole('api', { ...stage.settings, EMAIL_PROVIDER_URL: 'capture:' });
    try {
      await waitForApi(stage.apiPort);
      const p95: Record<string, number> = {};
      for (const path of PATHS) p95[path] = await p95Of(stage, path);
      return {
        worst_p95_ms: Math.max(...Object.values(p95)),
        p95_ms: p95,
        ...(await visitsOf(stage, options.visits)),
      };
    } finally {
      await api.stop();
    }
  } finally {
    await stage.close();
  }
}
