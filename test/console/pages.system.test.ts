// Every page of the console, with what strangers wrote: accessible, within the policy, and closed to those it is not for.
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { checkAccessibility, useConsole } from '../support/console.ts';
import { fillAccount, strangersTexts } from '../support/console-data.ts';
import { brandPages, pathWith } from '../support/console-pages.ts';
import { eventually } from '../support/eventually.ts';

const stage = useConsole();
const pages = brandPages();
const detailPages = pages.filter((path) => path.includes('$'));

let ids: Record<string, number>;
beforeAll(async () => {
  ids = await fillAccount(stage());
}, 60_000);

/** What the pages have shown. */
const shown = new Map<string, string>();

/** @throws Error if a script of a stranger has run, or stands in the page as more than text */
async function requireNoScript(page: Page): Promise<void> {
  for (const frame of page.frames()) {
    expect(await frame.evaluate('[typeof hacked, frames.length]')).toEqual(['undefined', expect.anything()]);
  }
  expect(await page.locator('img[src="x"]').count()).toBe(0);
}

/** The elements that are wider than the page; those in frames that scroll by themselves do not count. */
const widerThanPage = (page: Page) =>
  page.evaluate<string[]>(`(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return [];
    const wide = [...document.querySelectorAll('main *')].filter((one) => one.getBoundingClientRect().right > clientWidth);
    return ['the page', ...wide.map((one) => one.outerHTML.slice(0, 120))];
  })()`);

describe('every page', () => {
  let page: Page;
  beforeAll(async () => {
    page = await stage().signIn();
  });

  it.each(pages)('is accessible in both themes, fits a phone and runs no script: %s', async (path) => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await stage().open(page, pathWith(path, ids));
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
    shown.set(path, await page.locator('body').innerText());
    await requireNoScript(page);
    await checkAccessibility(page);
    // The themes differ only in their colors.
    await page.emulateMedia({ colorScheme: 'dark' });
    await checkAccessibility(page, ['color-contrast']);
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 360, height: 740 });
    // Charts follow the width of the window a moment later.
    await eventually(async () => expect(await widerThanPage(page)).toEqual([]), 5_000);
  });

  it.each(Object.entries(strangersTexts))('show as text: %s', (_field, text) => {
    expect([...shown].filter(([, all]) => all.includes(text)).map(([path]) => path)).not.toEqual([]);
  });
});

/** What the first account has, and no other user may see. */
const secrets = () => [
  ...Object.values(strangersTexts),
  'Customers',
  'Onboarding',
  'Spring sale',
  stage().email,
];

async function requireNoSecret(page: Page): Promise<void> {
  const text = await page.locator('body').innerText();
  expect(secrets().filter((secret) => text.includes(secret))).toEqual([]);
}

describe('an owner of another account', () => {
  let page: Page;
  beforeAll(async () => {
    const { email, brandId } = stage().other;
    page = await stage().signIn({ email, brandId });
  });

  it.each(detailPages)('gets nothing at %s', async (path) => {
    stage().allow(/status of 404/);
    const { brandId } = stage().other;
    await page.goto(`/console/brands/${brandId}${pathWith(path, ids)}`);
    await page
      .getByText(/not found|does not exist|there is no/i)
      .first()
      .waitFor();
    await requireNoSecret(page);
  });

  it('is led away from the brand', async () => {
    const { brandId } = stage().other;
    for (const path of ['/contacts', '/messages/$messageId']) {
      await stage().open(page, pathWith(path, ids));
      expect(new URL(page.url()).pathname).toBe(`/console/brands/${brandId}`);
      await requireNoSecret(page);
    }
  });
});

describe('a member', () => {
  const closed = {
    '/api-keys': 'API keys',
    '/webhooks': 'Webhooks',
    '/wallet': 'Wallet',
    '/team': 'Team',
    '/audit': 'Audit log',
  };
  let page: Page;
  beforeAll(async () => {
    const { email } = await stage().addUser('member');
    page = await stage().signIn({ email });
  });

  it('finds no keys, webhooks, money or team in the navigation or the palette', async () => {
    await stage().open(page, '');
    const navigation = page.getByRole('navigation', { name: 'Console' });
    await navigation.getByRole('link', { name: 'Messages' }).waitFor();
    for (const name of Object.values(closed)) {
      expect(await navigation.getByRole('link', { name, exact: true }).count()).toBe(0);
    }
    await page.keyboard.press('Control+k');
    await page.getByRole('option', { name: 'Messages' }).waitFor();
    for (const name of Object.values(closed)) {
      expect(await page.getByRole('option', { name, exact: true }).count()).toBe(0);
    }
  });

  it.each(Object.keys(closed))('sees what the API says at %s', async (path) => {
    stage().allow(/status of 403/);
    await stage().open(page, path);
    await page
      .getByText(/may not|not allowed|only owners|requires|forbidden/i)
      .first()
      .waitFor();
    const text = await page.locator('main').innerText();
    expect(text).not.toMatch(/crl_live_|whsec_|127\.0\.0\.1/);
  });
});
