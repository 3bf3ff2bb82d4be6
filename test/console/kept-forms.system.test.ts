// What is typed into a form is there after the user has left the page, until it is sent or discarded.
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { TEST_PASSWORD } from '../support/api.ts';
import { checkAccessibility, useConsole } from '../support/console.ts';
import { deliver } from '../support/inbound.ts';
import { allowInboxes } from '../support/inboxes.ts';

const stage = useConsole();
let page: Page;
let conversation: number;
const ids = { list: 0, webhook: 0, contact: 0 };

const post = async (path: string, body: unknown) => {
  const made = await stage().request('POST', `/v1/my${path}`, { body });
  expect([made.status, made.text]).toEqual([201, expect.anything()]);
  return made.body;
};

beforeAll(async () => {
  await allowInboxes(stage().database, stage().accountId);
  const { address } = await post('/inboxes', { name: 'Support' });
  const data = `From: ada@example.com\r\nTo: ${String(address)}\r\nSubject: A question\r\nMessage-ID: <a@example.com>\r\n\r\nHow?\r\n`;
  await deliver(stage().service.mailPort, { from: 'ada@example.com', to: String(address), data });
  ids.list = Number((await post('/lists', { name: 'Customers' })).id);
  ids.webhook = Number(
    (await post('/webhooks', { url: 'https://127.0.0.1:65000/a', events: ['email.delivered'] })).id,
  );
  ids.contact = Number(
    (await post('/contacts', { email: 'hedy@example.com', first_name: 'Hedy', data: { plan: 'pro' } })).id,
  );
  page = await stage().signIn({ at: '/inbox' });
  await page.getByRole('link', { name: 'A question' }).click();
  await page.getByLabel('Your reply').waitFor();
  conversation = Number(/inbox\/(\d+)/.exec(page.url())?.[1]);
});

const left = () => page.getByText('Not saved yet');
const discard = () => page.getByRole('button', { name: 'Discard what was typed' }).click();
/** Leaves by a link of the page. */
const leave = async () => {
  if ((await page.getByRole('dialog').count()) > 0) await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'Segments', exact: true }).click();
  await page.getByRole('heading', { name: 'Segments', level: 1 }).waitFor();
};

describe('an answer that is not sent', () => {
  const answer = () => page.getByLabel('Your reply');

  it('is there after the page was left, and after a reload, until it is sent', async () => {
    await answer().fill('It is on its way');
    await leave();
    await page.goBack();
    await left().waitFor();
    expect(await answer().inputValue()).toBe('It is on its way');
    await checkAccessibility(page);
    await answer().fill('It is on its way.');
    await page.reload();
    await left().waitFor();
    expect(await answer().inputValue()).toBe('It is on its way.');
    await page.getByRole('button', { name: 'Send the reply' }).click();
    await page.getByText('The reply is accepted for sending.').waitFor();
    expect(await answer().inputValue()).toBe('');
    await stage().open(page, `/inbox/${conversation}`);
    expect([await left().count(), await answer().inputValue()]).toEqual([0, '']);
  });

  it('is kept for its own conversation and user alone', async () => {
    await answer().fill('A secret');
    const other = await stage().addUser('admin');
    const theirs = await stage().signIn({ email: other.email, at: `/inbox/${conversation}` });
    expect(await theirs.getByLabel('Your reply').inputValue()).toBe('');
    const keys = await page.evaluate<string[]>(
      `Object.keys(localStorage).filter((key) => localStorage[key].includes('A secret'))`,
    );
    expect(keys).toEqual([`carillon.user.${stage().userId}.form.${stage().brandId}.answer.${conversation}`]);
    await stage().open(page, `/inbox/${conversation}`);
    await discard();
    expect(await answer().inputValue()).toBe('');
  });
});

describe('a form of settings', () => {
  const forms: readonly (readonly [
    name: string,
    path: () => string,
    open: RegExp | null,
    label: string,
    value: string,
  ])[] = [
    ['the brand', () => '/brand', null, 'Company name', 'Changed company'],
    ['the account', () => '/account', null, 'Sender name', 'Changed sender'],
    ['the profile', () => '/profile', null, 'First name', 'Changed name'],
    ['the country of the profile', () => '/profile', null, 'Country', 'France'],
    ['a list', () => `/lists/${ids.list}`, /^Edit/, 'Description', 'Changed description'],
    ['a webhook', () => `/webhooks/${ids.webhook}`, /^Edit/, 'URL', 'https://127.0.0.1:65000/changed'],
    ['an inbox', () => '/inbox/inboxes', /^Edit/, 'Name', 'Changed inbox'],
    ['a contact', () => `/contacts/${ids.contact}`, /^Edit/, 'Last name', 'Changed name'],
    ['the data of a contact', () => `/contacts/${ids.contact}`, /^Edit/, 'Value of plan', 'changed plan'],
    ['a new domain', () => '/domains', /^Add a domain/, 'Domain', 'changed.example'],
  ];

  it.each(forms)(
    '%s keeps what was typed, and begins again when it is discarded',
    async (_name, path, opens, label, value) => {
      const field = () => page.getByLabel(label, { exact: true });
      const open = async () => {
        await stage().open(page, path());
        if (opens !== null) await page.getByRole('button', { name: opens }).first().click();
        await field().waitFor();
      };
      await open();
      const before = await field().inputValue();
      await field().fill(value);
      await leave();
      await open();
      await left().waitFor();
      expect(await field().inputValue()).toBe(value);
      await discard();
      expect([await left().count(), await field().inputValue()]).toEqual([0, before]);
      await page.reload();
      if (opens !== null) await page.getByRole('button', { name: opens }).first().click();
      await field().waitFor();
      expect([await left().count(), await field().inputValue()]).toEqual([0, before]);
      await page.keyboard.press('Escape');
    },
  );

  it('takes what someone else changed in other fields, and names the same field', async () => {
    await stage().open(page, '/brand');
    await page.getByLabel('Company name').fill('Mine');
    await page.getByLabel('Record clicks').click();
    await leave();
    await stage().request('PUT', '/v1/my/brand', {
      token: stage().userJwt,
      body: { company_name: 'Theirs', industry: 'Bakery' },
    });
    await stage().open(page, '/brand');
    await page.getByText('Someone else has changed this since: Company name.').waitFor();
    expect(await page.getByLabel('Company name').inputValue()).toBe('Mine');
    expect(await page.getByLabel('Industry').inputValue()).toBe('Bakery');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Brand saved.').waitFor();
    const { body } = await stage().request('GET', '/v1/my/brand');
    expect(body).toMatchObject({ company_name: 'Mine', industry: 'Bakery' });
    await stage().open(page, '/brand');
    expect(await left().count()).toBe(0);
  });

  it('changes only the data of a contact that were typed, not what others have written since', async () => {
    const { id } = await post('/contacts', {
      email: 'grace@example.com',
      data: { plan: 'pro', score: 1, old: true, city: 'Rome' },
    });
    const open = async () => {
      await stage().open(page, `/contacts/${Number(id)}`);
      await page.getByRole('button', { name: /^Edit/ }).first().click();
    };
    const dataNow = async () => (await stage().request('GET', `/v1/my/contacts/${Number(id)}`)).body.data;
    const write = (data: unknown) =>
      stage().request('PATCH', `/v1/my/contacts/${Number(id)}`, { body: { data } });
    await open();
    await page.getByLabel('Value of plan', { exact: true }).fill('team');
    await page.getByRole('button', { name: 'Remove old' }).click();
    await leave();
    await write({ score: 99, last_order: 'A7', city: null });
    await open();
    await left().waitFor();
    expect(await page.getByLabel('Value of score', { exact: true }).inputValue()).toBe('99');
    await page.getByLabel('First name', { exact: true }).fill('Grace');
    // Written while the form is open, and then seen by the page.
    await write({ seats: 5 });
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Contact saved.').waitFor();
    expect(await dataNow()).toEqual({ plan: 'team', score: 99, last_order: 'A7', seats: 5 });
  });

  it('changes only the events of a webhook that were ticked, not what others have chosen since', async () => {
    const { id } = await post('/webhooks', {
      url: 'https://127.0.0.1:65000/b',
      events: ['email.delivered', 'email.sent'],
    });
    const open = async () => {
      await stage().open(page, `/webhooks/${Number(id)}`);
      await page.getByRole('button', { name: /^Edit/ }).first().click();
    };
    await open();
    await page.getByRole('checkbox', { name: 'email.opened' }).check();
    await leave();
    await stage().request('PATCH', `/v1/my/webhooks/${Number(id)}`, {
      body: { events: ['email.delivered', 'email.bounced'] },
    });
    await open();
    await left().waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('The webhook is changed.').waitFor();
    const { body } = await stage().request('GET', `/v1/my/webhooks/${Number(id)}`);
    expect(body.events).toEqual(['email.delivered', 'email.bounced', 'email.opened']);
  });

  it('gives up what was typed by Cancel, and never keeps a password', async () => {
    await stage().open(page, `/lists/${ids.list}`);
    await page.getByRole('button', { name: /^Edit/ }).click();
    await page.getByLabel('Description', { exact: true }).fill('Given up');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: /^Edit/ }).click();
    expect(await page.getByLabel('Description', { exact: true }).inputValue()).toBe('');
    await page.keyboard.press('Escape');
    await stage().open(page, '/profile');
    for (const input of await page.locator('input[type="password"]').all()) await input.fill(TEST_PASSWORD);
    const kept = await page.evaluate<string>('JSON.stringify(localStorage)');
    expect(kept).not.toContain(TEST_PASSWORD);
  });
});

describe('a second tab', () => {
  const name = (tab: Page) => tab.getByLabel('Industry');
  const openBoth = async () => {
    await stage().open(page, '/brand');
    const second = await page.context().newPage();
    await second.goto(page.url());
    await name(second).waitFor();
    return second;
  };

  it('does not remove what the first has kept, if nothing is typed there', async () => {
    const second = await openBoth();
    await name(page).fill('Of the first tab');
    await name(second).focus();
    await second.getByLabel('Tone').focus();
    await second.getByRole('button', { name: 'Save', exact: true }).click();
    await second.getByText('Brand saved.').waitFor();
    await page.reload();
    await left().waitFor();
    expect(await name(page).inputValue()).toBe('Of the first tab');
    await discard();
    await second.close();
  });

  it('does not overwrite it, and says that what is typed there is not kept', async () => {
    const second = await openBoth();
    await name(page).fill('Of the first tab');
    await name(second).fill('Of the second tab');
    await second.getByText('Another tab keeps').waitFor();
    await checkAccessibility(second);
    await name(page).fill('Of the first tab again');
    await page.reload();
    await left().waitFor();
    expect(await name(page).inputValue()).toBe('Of the first tab again');
    await discard();
    // The entry is free again.
    await name(second).fill('Of the second tab again');
    await second.getByText('Another tab keeps').waitFor({ state: 'detached' });
    await second.reload();
    expect(await name(second).inputValue()).toBe('Of the second tab again');
    await second.getByRole('button', { name: 'Discard what was typed' }).click();
    await second.close();
  });
});
