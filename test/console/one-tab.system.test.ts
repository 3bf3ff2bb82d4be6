// What is shown and typed in a tab of the console stays, and goes to the brand that is shown, whatever loads meanwhile.
import { expect, it } from '@jest/globals';
import { useConsole } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';

const stage = useConsole();

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
  let goOn = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const asked = page.waitForEvent('request', { predicate: (each) => each.url().includes('/overview-page') });
  // Only slow, as on a bad line.
  await page.route('**/overview-page*', async (route) => {
    await held;
    await route.continue();
  });
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
