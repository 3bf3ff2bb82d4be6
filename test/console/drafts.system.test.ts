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
const subjectOf = (page: Page) => page.getByLabel('Subject', { exact: true });
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

it('merges what two people change in different fields, and asks about the field that both changed', async () => {
  stage().allow(/status of 412/);
  await stage().open(ben, path());
  expect(await nameOf(ben).inputValue()).toBe('Written offline');
  await subjectOf(ben).fill('By Ben');
  await saved(ben);
  await nameOf(ann).fill('By Ann');
  await ann.getByText(`${bensEmail} changed Subject at`, { exact: false }).waitFor();
  await saved(ann);
  expect((await draft()).content).toMatchObject({ name: 'By Ann', subject: 'By Ben' });
  expect(await subjectOf(ann).inputValue()).toBe('By Ben');

  await nameOf(ben).fill('By Ben');
  await ben.getByText(/^Olive Owner changed this at \d/).waitFor();
  expect((await draft()).content?.name).toBe('By Ann');
  await click(ben, 'Choose');
  const question = ben.getByRole('dialog').getByRole('group', { name: 'Name' });
  for (const name of ['By Ann', 'By Ben']) await question.getByText(name, { exact: true }).waitFor();
  expect(await ben.getByRole('dialog').getByRole('group').count()).toBe(1);
  await checkAccessibility(ben);
  await question.getByRole('radio', { name: 'Mine' }).check();
  await click(ben, 'Use these');
  await saved(ben);
  expect((await draft()).content).toMatchObject({ name: 'By Ben', subject: 'By Ben' });
});

it('publishes, and merges what is live now into the draft of the other one', async () => {
  stage().allow(/status of 412/);
  await stage().open(ann, path());
  await bar(ann).getByText('Unpublished changes', { exact: false }).waitFor();
  await click(ann, 'Publish');
  await bar(ann).getByText('Everything is published.').waitFor();
  await eventually(async () => expect(await live()).toMatchObject({ name: 'By Ben', subject: 'By Ben' }));
  expect(await draft()).toBeNull();
  // What Ben has of it is what is live now.
  await ben.getByLabel('Preheader', { exact: true }).fill('By Ben');
  await saved(ben);
  expect((await draft()).content).toMatchObject({ name: 'By Ben', preheader: 'By Ben' });
  await stage().request('PATCH', `/v1/my/templates/${id}`, {
    body: { name: 'Published', subject: 'Published' },
  });
  await stage().open(ben, path());
  await ben.getByText('published Name and Subject at', { exact: false }).waitFor();
  await saved(ben);
  expect((await draft()).content).toMatchObject({
    name: 'Published',
    subject: 'Published',
    preheader: 'By Ben',
  });
  await click(ben, 'Publish');
  await bar(ben).getByText('Everything is published.').waitFor();
  await eventually(async () =>
    expect(await live()).toMatchObject({ name: 'Published', preheader: 'By Ben' }),
  );
});
