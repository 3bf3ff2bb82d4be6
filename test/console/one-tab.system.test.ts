// What is shown and typed in a tab of the console stays, and goes to the brand that is shown, whatever loads meanwhile.
import { expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { useConsole } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';

const stage = useConsole();

/**
 * Holds back requests, as a bad line does.
 * @returns a function that lets them go on
 */
async function hold(page: Page, url: string): Promise<() => void> {
  let goOn = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  await page.route(url, async (route) => {
    await held;
    await route.continue();
  });
  return goOn;
}

it('keeps what is typed in a dialog of a table when the list loads again', async () => {
  const { userJwt, brandId } = stage();
  const create = (name: string) =>
    stage().request('POST', '/v1/my/api_keys', {
      token: userJwt,
      body: { name, test: true, brand_id: brandId },
    });
  await create('Old name');
  const page = await stage().signIn({ at: '/api-keys' });
  await page
    .getByRole('row', { name: /Old name/ })
    .getByRole('button', { name: 'Rename' })
    .click();
  const name = page.getByRole('dialog').getByLabel('Name');
  await name.fill('Half a na');
  await create('A key of a colleague');
  await eventually(async () => {
    await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
    expect(await page.locator('td', { hasText: 'A key of a colleague' }).count()).toBe(1);
  });
  expect(await name.inputValue()).toBe('Half a na');
});

it('asks for the former brand as long as it is shown', async () => {
  const { userJwt, brandId } = stage();
  const other = await stage().request('POST', '/v1/my/brands', {
    token: userJwt,
    body: { company_name: 'The other brand' },
  });
  const page = await stage().signIn({ at: '/messages' });
  const asked = page.waitForEvent('request', { predicate: (each) => each.url().includes('/overview-page') });
  const goOn = await hold(page, '**/overview-page*');
  await page.getByLabel('Brand').selectOption(String(other.body.id));
  await asked;
  const [request] = await Promise.all([
    page.waitForRequest((each) => each.url().includes('/v1/my/messages')),
    page.getByRole('button', { name: 'Refresh' }).click(),
  ]);
  expect(request.headers()['x-brand-id']).toBe(String(brandId));
  goOn();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
});

it('says what is wrong with a form that was closed while it was sent', async () => {
  stage().allow(/status of 422/);
  const page = await stage().signIn({ at: '/contacts' });
  const goOn = await hold(page, '**/v1/my/contacts');
  await page.getByRole('button', { name: 'New contact' }).click();
  await page.getByLabel('Phone number', { exact: true }).fill('12');
  const sent = page.waitForRequest((each) => each.method() === 'POST');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await sent;
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  goOn();
  await page.getByRole('status').getByText('phone: ').waitFor();
});

it('stays on a page that the user has gone to while something was created', async () => {
  const page = await stage().signIn({ at: '/lists' });
  const goOn = await hold(page, '**/v1/my/lists');
  await page.getByRole('button', { name: 'New list' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('Late');
  const sent = page.waitForRequest((each) => each.method() === 'POST');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await sent;
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'Segments' }).click();
  await page.getByRole('heading', { level: 1, name: 'Segments' }).waitFor();
  goOn();
  await page.getByText('List saved.').waitFor();
  await page.waitForLoadState('networkidle');
  expect(page.url()).toMatch(/\/segments$/);
});

it('keeps nothing of one resource on the page of another', async () => {
  const create = async (name: string) => {
    const { body } = await stage().request('POST', '/v1/my/lists', { body: { name } });
    return Number(body.id);
  };
  await create('One');
  const two = await create('Two');
  const page = await stage().signIn({ at: `/lists/${two}` });
  const open = async (name: string) => {
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('A page, an address, an id or a name').fill(name);
    await page.getByRole('option', { name: new RegExp(`^${name}`) }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
  };
  await open('One');
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('Name').fill('Half a na');
  // Nothing has to be loaded.
  await open('Two');
  expect(page.url()).toMatch(new RegExp(`/lists/${two}$`));
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});
