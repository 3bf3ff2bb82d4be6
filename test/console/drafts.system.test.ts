// Two people edit one template in the console: neither loses anything, nor does a closed tab, and nothing live changes early.
import { beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { checkAccessibility, useConsole } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';

const stage = useConsole();
let id: number;
let ann: Page;
let ben: Page;
let bensEmail: string;

const path = () => `/templates/${id}/edit`;
const nameOf = (page: Page) => page.getByLabel('Name', { exact: true });
const bar = (page: Page) => page.locator('.draft-bar');
const draft = async () => (await stage().request('GET', `/v1/my/drafts/templates/${id}`)).body;
const live = async () => (await stage().request('GET', `/v1/my/templates/${id}`)).body;
const saved = (page: Page) =>
  bar(page)
    .getByText(/^Unpublished changes, saved/)
    .waitFor();
const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

beforeAll(async () => {
  const template = { name: 'Welcome', channel: 'email', subject: 'Hello', body: '<p>Hello</p>' };
  const { body } = await stage().request('POST', '/v1/my/templates', { body: template });
  id = Number(body.id);
  bensEmail = (await stage().addUser('member')).email;
  ann = await stage().signIn({ at: `/templates/${id}` });
  ben = await stage().signIn({ email: bensEmail });
}, 60_000);

it('saves what is written by itself, and marks the template', async () => {
  await ann.getByRole('link', { name: 'Edit', exact: true }).click();
  await bar(ann).getByText('Everything is published.').waitFor();
  await nameOf(ann).fill('Welcome, by Ann');
  await saved(ann);
  expect((await draft()).content?.name).toBe('Welcome, by Ann');
  expect((await live()).name).toBe('Welcome');
  await stage().open(ben, '/templates');
  await ben
    .getByRole('row', { name: /Welcome/ })
    .getByText('unpublished changes')
    .waitFor();
});

it('keeps what was written before a tab was closed without a connection', async () => {
  stage().allow(/INTERNET_DISCONNECTED|Failed to load resource/);
  const context = ann.context();
  await context.setOffline(true);
  await nameOf(ann).fill('Written offline');
  await ann.close();
  await context.setOffline(false);
  expect((await draft()).content?.name).toBe('Welcome, by Ann');
  ann = await context.newPage();
  await stage().open(ann, path());
  expect(await nameOf(ann).inputValue()).toBe('Written offline');
  await saved(ann);
  expect((await draft()).content?.name).toBe('Written offline');
});

it('shows two people both versions, and saves the chosen one', async () => {
  stage().allow(/status of 412/);
  await stage().open(ben, path());
  expect(await nameOf(ben).inputValue()).toBe('Written offline');
  await nameOf(ben).fill('By Ben');
  await saved(ben);
  await nameOf(ann).fill('By Ann');
  await ann.getByText(new RegExp(`^${bensEmail} changed this at \\d`)).waitFor();
  expect((await draft()).content?.name).toBe('By Ben');
  await click(ann, 'Show both versions');
  const dialog = ann.getByRole('dialog');
  for (const name of ['By Ann', 'By Ben']) await dialog.getByText(name, { exact: true }).waitFor();
  await checkAccessibility(ann);
  await dialog.getByRole('button', { name: 'Keep my version' }).click();
  await saved(ann);
  expect((await draft()).content?.name).toBe('By Ann');
});

it('publishes, and shows the other one what is live now', async () => {
  stage().allow(/status of 412/);
  await nameOf(ben).fill('By Ben once more');
  await ben
    .getByText(/changed this at/)
    .first()
    .waitFor();
  await click(ann, 'Publish');
  await bar(ann).getByText('Everything is published.').waitFor();
  await eventually(async () => expect((await live()).name).toBe('By Ann'));
  expect((await live()).subject).toBe('Hello');
  expect(await draft()).toBeNull();
  await click(ben, 'Show both versions');
  await ben.getByRole('button', { name: 'Keep my version' }).click();
  await ben
    .getByText(/What is published has changed/)
    .first()
    .waitFor();
  await ben.getByRole('button', { name: 'Show both versions' }).click();
  await ben.getByRole('button', { name: 'Take this version' }).click();
  await bar(ben).getByText('Everything is published.').waitFor();
  expect(await nameOf(ben).inputValue()).toBe('By Ann');
});
