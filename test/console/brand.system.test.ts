// At the console, in a real browser: a user makes a brand, and gives it a logo and the look of a website.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { checkAccessibility, useConsole } from '../support/console.ts';
import { startWebsites, type Websites } from '../support/websites.ts';

const LOGO = new URL('../features/brands/sites/inline.test/logo.png', import.meta.url);
const NAME = 'Anvils & Co <b>';

const stage = useConsole();
let website: Websites;
let page: Page;
beforeAll(async () => {
  website = await startWebsites();
  website.handlers['127.0.0.1'] = (_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(
      '<html><body style="background:#FFF8F0;color:#332211"><h1>Iron that lasts</h1>' +
        '<a class="btn" style="background-color:rgb(180, 40, 20);color:#fff" href="/buy">Buy</a></body></html>',
    );
  };
  page = await stage().signIn();
});
afterAll(() => website.close());

const press = (name: string) => page.getByRole('button', { name, exact: true }).click();

it('makes a brand, which has its own pages', async () => {
  await page.getByRole('banner').getByRole('button').last().click();
  await page.getByRole('menuitem', { name: 'New brand' }).click();
  await page.getByLabel('Name of the company or product').fill(NAME);
  await checkAccessibility(page);
  await press('Create the brand');
  await page.waitForURL((url) => /\/brands\/\d+$/.test(url.pathname));
  const brandId = Number(new URL(page.url()).pathname.split('/').at(-1));
  expect(brandId).not.toBe(stage().brandId);
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  expect(await page.getByLabel('Brand').locator('option:checked').textContent()).toContain(NAME);
  await page.getByRole('link', { name: 'Brand', exact: true }).click();
  await page.getByLabel('Company name').waitFor();
  expect(await page.getByLabel('Company name').inputValue()).toBe(NAME);
});

it('shows the uploaded logo, and what the API says of a file that is none', async () => {
  stage().allow(/status of 4\d\d/);
  await stage().open(page, '/brand');
  const input = page.getByLabel('Replace the logo');
  await input.setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: Buffer.from('no image') });
  await page.getByRole('alert').waitFor();
  await input.setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: await readFile(LOGO) });
  await page.getByText('Logo saved.').waitFor();
  const logo = page.getByAltText('The logo of the brand');
  await logo.and(page.locator('img')).waitFor();
  expect(await page.evaluate("document.querySelector('img.logo').decode()")).toBeUndefined();
  await press('Remove the logo');
  await logo.waitFor({ state: 'detached' });
});

it('takes the colours of a website, and says why another one gives none', async () => {
  await stage().open(page, '/brand');
  const field = page.getByLabel('Website');
  await field.fill(website.url('127.0.0.1'));
  await press('Read the website');
  await page.getByText(/^Found: .*brand color/).waitFor();
  await page.getByLabel('Brand color').and(page.locator('[value="#b42814"]')).waitFor();
  await checkAccessibility(page);
  website.handlers['127.0.0.1'] = (_request, response) => void response.end('no page');
  await field.fill(website.url('127.0.0.1', '/other'));
  await press('Read the website');
  await page.getByText('There is no web page at this address.').waitFor();
});
