// A user manages contacts, lists, imports, exports and suppressions in the console.
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Download, Page } from 'playwright-core';
import { checkAccessibility, useConsole } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';

const stage = useConsole();
let page: Page;

/** More than one page of the list. */
const READERS = 130;

beforeAll(async () => {
  page = await stage().signIn({ at: '/contacts' });
});

const post = async (path: string, body: unknown) => {
  const answer = await stage().request('POST', `/v1/my${path}`, { body });
  expect([200, 201]).toContain(answer.status);
  return answer.body;
};
const get = (path: string) => stage().request('GET', `/v1/my${path}`);
const click = (name: string | RegExp) => page.getByRole('button', { name, exact: true }).click();
const dialog = () => page.getByRole('dialog');

async function createList(name: string): Promise<number> {
  return Number((await post('/lists', { name })).id);
}

async function downloadBy(name: string): Promise<string> {
  const [download] = await Promise.all<[Promise<Download>, Promise<void>]>([
    page.waitForEvent('download'),
    click(name),
  ]);
  return readFileSync(await download.path(), 'utf8');
}

describe('contacts', () => {
  it('creates a contact, and changes it without losing what stays the same', async () => {
    await stage().open(page, '/contacts');
    await click('New contact');
    await dialog().getByLabel('Email address').fill('ada@example.com');
    await dialog().getByLabel('First name').fill('Ada');
    const country = dialog().getByLabel('Country');
    await country.fill('Germ');
    // The line about the country would move the button away between the press and the release.
    await dialog().getByRole('button', { name: 'Add a value' }).click();
    await dialog().getByText('No country has this name.').waitFor();
    await page.keyboard.type('plan');
    await country.fill('Germany');
    await dialog().getByRole('button', { name: 'Add a value' }).click();
    await page.keyboard.type('seats');
    await dialog().getByLabel('Value of plan').fill('pro');
    await dialog().getByLabel('Type of seats').selectOption('number');
    await dialog().getByLabel('Value of seats').fill('3');
    await click('Save');
    await page.getByRole('heading', { level: 1, name: 'Ada' }).waitFor();
    await page.getByText('Germany', { exact: true }).waitFor();
    expect((await get('/contacts?email=ada@example.com')).list[0]).toMatchObject({
      country_code: 'DE',
      data: { plan: 'pro', seats: 3 },
    });
    await click('Edit');
    await dialog().getByLabel('Last name').fill('Lovelace');
    expect(await country.inputValue()).toBe('Germany');
    await dialog().getByLabel('Value of plan').fill('team');
    await dialog().getByRole('button', { name: 'Remove seats' }).click();
    await click('Save');
    await page.getByRole('heading', { level: 1, name: 'Ada Lovelace' }).waitFor();
    const { list } = await get('/contacts?email=ada@example.com');
    expect(list).toMatchObject([{ first_name: 'Ada', data: { plan: 'team' }, subscribed_email: true }]);
    expect(list[0]?.data).toEqual({ plan: 'team' });
  });

  it('creates one contact after the other, whose data have the same names', async () => {
    await stage().open(page, '/contacts?new=contact');
    await dialog().getByLabel('Email address').fill('eve@example.com');
    for (const [name, value] of [
      ['shoe', '38'],
      ['note', 'new'],
    ] as const) {
      await dialog().getByRole('button', { name: 'Add a value' }).click();
      await page.keyboard.type(name);
      await dialog().getByLabel(`Value of ${name}`).fill(value);
    }
    await dialog().getByLabel('Type of shoe').selectOption('number');
    await click('Save and add another');
    await dialog().getByLabel('Value of shoe').and(dialog().locator('[value=""]')).waitFor();
    await page.keyboard.type('fay@example.com');
    await dialog().getByLabel('Value of shoe').fill('40');
    await click('Save');
    await page.getByRole('heading', { level: 1, name: 'fay@example.com' }).waitFor();
    const dataOf = async (email: string) => (await get(`/contacts?email=${email}`)).list[0]?.data;
    expect(await dataOf('eve@example.com')).toEqual({ shoe: 38, note: 'new' });
    expect(await dataOf('fay@example.com')).toEqual({ shoe: 40 });
  });

  it('shows at the field what the API says of it', async () => {
    stage().allow(/status of 422/);
    await stage().open(page, '/contacts');
    await click('New contact');
    await dialog().getByLabel('Phone number').fill('12');
    await click('Save');
    const { body } = await stage().request('POST', '/v1/my/contacts', { body: { phone: '12', data: {} } });
    const said = String(body.validation_errors?.phone?.[0]);
    await dialog().getByRole('alert').filter({ hasText: said }).waitFor();
    expect(await dialog().getByLabel('Phone number').getAttribute('aria-invalid')).toBe('true');
    await click('Cancel');
  });

  it('unsubscribes an address after a question', async () => {
    const { id } = await post('/contacts', { email: 'bob@example.com' });
    await stage().open(page, `/contacts/${String(id)}`);
    await click('Unsubscribe');
    await dialog().getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByText('unsubscribed', { exact: true }).waitFor();
    expect((await get(`/contacts/${String(id)}`)).body.subscribed_email).toBe(false);
    await page.getByRole('table', { name: 'Timeline' }).getByText('Unsubscribed: email').waitFor();
  });

  it('takes a contact out of a list, and back by Undo', async () => {
    const listId = await createList('Friends');
    const { id } = await post('/contacts', { email: 'carol@example.com', list_ids: [listId] });
    await stage().open(page, `/contacts/${String(id)}`);
    await click('Remove from Friends');
    await page.getByText('In no list.').waitFor();
    await click('Undo');
    await page.getByRole('button', { name: 'Remove from Friends' }).waitFor();
    expect((await get(`/contacts/${String(id)}`)).body.list_ids).toEqual([listId]);
  });
});

describe('bulk actions', () => {
  let readers: number;
  beforeAll(async () => {
    readers = await createList('Readers');
    await post(`/lists/${readers}/contacts/bulk`, {
      add: Array.from({ length: READERS }, (_, index) => `reader${index}@example.com`),
    });
  });

  it('counts first, and then changes all contacts that match, also those on other pages', async () => {
    const club = await createList('Club');
    await stage().open(page, `/contacts?list_id=${readers}`);
    await click('Act on all that match');
    await page.getByRole('menuitem', { name: 'Add to a list' }).click();
    await dialog().getByLabel('List').selectOption({ label: 'Club' });
    await click('Count the contacts');
    const start = dialog().getByRole('button', { name: `Add to a list: ${READERS} contacts` });
    await start.waitFor();
    expect((await get(`/lists/${club}`)).body.contacts_count).toBe(0);
    await start.click();
    await page.getByText('completed', { exact: true }).waitFor();
    await page.getByText(`${READERS} of ${READERS} (100%)`).waitFor();
    await eventually(async () => expect((await get(`/lists/${club}`)).body.contacts_count).toBe(READERS));
  });

  it('deletes only the ticked contacts, and not before their number was typed', async () => {
    await stage().open(page, `/lists/${readers}`);
    const ticks = page.getByRole('checkbox', { name: /^Select \d+$/ });
    await ticks.nth(0).check();
    await ticks.nth(1).check();
    await click('Act on 2 selected');
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await click('Count the contacts');
    const start = dialog().getByRole('button', { name: 'Delete: 2 contacts' });
    await start.waitFor();
    expect(await start.isDisabled()).toBe(true);
    await dialog().getByLabel('Type 2 to delete 2 contacts').fill('2');
    await start.click();
    await page.getByText('completed', { exact: true }).waitFor();
    await eventually(async () =>
      expect((await get(`/lists/${readers}`)).body.contacts_count).toBe(READERS - 2),
    );
  });
});

describe('imports', () => {
  const CSV = 'Mail;Spitzname;Kontakt\r\nerik@example.com;Eri;x\r\nnot an address;Nobody;y\r\n';

  it('imports by the meaning of columns that the user chose, and gives failed rows back', async () => {
    const listId = await createList('Imported');
    await stage().open(page, '/imports/new');
    await page
      .getByLabel('CSV file')
      .setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(CSV) });
    await page.getByLabel('Meaning of the column Spitzname').selectOption('first_name');
    await page.getByLabel('Meaning of the column Kontakt').selectOption('ignore');
    await page.getByLabel('Imported').check();
    await click('Import');
    await page.getByRole('heading', { level: 1, name: 'people.csv' }).waitFor();
    await page.getByText('completed', { exact: true }).waitFor();
    const { list } = await get('/contacts?email=erik@example.com');
    expect(list).toMatchObject([{ first_name: 'Eri', data: {}, list_ids: [listId] }]);
    const failed = await downloadBy('Download the failed rows');
    expect(failed).toContain('not an address,Nobody,y,');
    expect(failed).not.toContain('erik@example.com');
  });

  it('shows how the columns are read before anything is imported, and leaves alone who said no', async () => {
    const file =
      'Email,Accepts Email Marketing,Type\nno.thanks@example.com,no,gold\nyes.please@example.com,yes,new\n';
    await stage().open(page, '/imports/new');
    await page
      .getByLabel('CSV file')
      .setInputFiles({ name: 'shop.csv', mimeType: 'text/csv', buffer: Buffer.from(file) });
    await click('Check the file');
    const read = page.getByRole('table', { name: 'How the columns are read' });
    const rowOf = (name: string) => read.getByRole('row').filter({ hasText: name });
    await rowOf('Accepts Email Marketing').getByText('no: unsubscribed, yes: subscribed').waitFor();
    await rowOf('Type').getByText('data.Type').waitFor();
    await page.getByText('2 contacts would be new').waitFor();
    await checkAccessibility(page);
    expect((await get('/contacts?email=no.thanks@example.com')).list).toEqual([]);
    await click('Import');
    await page.getByRole('heading', { level: 1, name: 'shop.csv' }).waitFor();
    await page.getByText('completed', { exact: true }).waitFor();
    await rowOf('Accepts Email Marketing').waitFor();
    expect((await get('/contacts?email=no.thanks@example.com')).list).toMatchObject([
      { subscribed_email: false },
    ]);
    expect((await get('/contacts?email=yes.please@example.com')).list).toMatchObject([
      { subscribed_email: true },
    ]);
  });
});

describe('exports', () => {
  it('writes a file of the contacts that the list shows', async () => {
    await post('/contacts', { email: 'frida@example.com', source: 'fair' });
    await stage().open(page, '/contacts?source=fair');
    await click('Export');
    await page.getByRole('heading', { level: 1, name: 'Export of contacts' }).waitFor();
    const file = await downloadBy('Download');
    expect(file).toContain('frida@example.com');
    expect(file.trim().split('\r\n')).toHaveLength(2);
  });
});

describe('suppressions', () => {
  it('reports each pasted address, and ends a suppression after a question', async () => {
    await stage().open(page, '/suppressions');
    await click('Many at once');
    await dialog().getByLabel('Suppress', { exact: true }).fill('gone@example.com\nnot an address');
    await click('Change the suppressions');
    await dialog().getByText('1 added, 1 invalid').waitFor();
    await click('Done');
    const row = page.getByRole('row').filter({ hasText: 'gone@example.com' }).last();
    await row.getByRole('button', { name: 'End' }).click();
    await click('End the suppression');
    await page.getByText('Suppression ended.').waitFor();
    expect((await get('/suppressions?email=gone@example.com')).list).toEqual([]);
  });

  it('does not offer members to end a complaint', async () => {
    const { accountId, database } = stage();
    await database.pool.query(
      `insert into suppressions (account_id, email, address_key, reason) values ($1, $2, $2, 'complaint')`,
      [accountId, 'angry@example.com'],
    );
    await stage().open(page, '/suppressions');
    const buttonsFor = (shown: Page) =>
      shown
        .getByRole('row')
        .filter({ hasText: 'angry@example.com' })
        .last()
        .getByRole('button', { name: 'End' });
    await buttonsFor(page).waitFor();
    const { email } = await stage().addUser('member');
    const other = await stage().signIn({ email, at: '/suppressions' });
    await other.getByText('angry@example.com').waitFor();
    expect(await buttonsFor(other).count()).toBe(0);
  });
});

describe('the pages of the audience', () => {
  let phone: Page;
  beforeAll(async () => {
    phone = await stage().signIn({ at: '/contacts', theme: 'dark', width: 360 });
  });

  it.each([
    '/contacts',
    '/bulk-actions',
    '/lists',
    '/segments',
    '/imports',
    '/imports/new',
    '/exports',
    '/suppressions',
    '/validations',
  ])('%s is accessible in both themes and fits a phone', async (path) => {
    await stage().open(phone, path);
    await checkAccessibility(phone);
    await phone.emulateMedia({ colorScheme: 'light' });
    await checkAccessibility(phone);
    await phone.emulateMedia({ colorScheme: 'dark' });
    const isTooWide = await phone.evaluate('document.documentElement.scrollWidth > innerWidth');
    expect(isTooWide).toBe(false);
  });
});
