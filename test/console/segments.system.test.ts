// A user builds a segment without JSON, sees who is in it and why, and publishes it.
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { checkAccessibility, useConsole } from '../support/console.ts';

const stage = useConsole();
let page: Page;

beforeAll(async () => {
  await post('/contacts', { email: 'dora@example.com', country_code: 'DE', data: { plan: 'pro', age: 40 } });
  await post('/contacts', {
    email: 'erik@example.com',
    country_code: 'DE',
    data: { plan: 'free', age: '17' },
  });
  await track('order_placed', 'erik@example.com');
  page = await stage().signIn({ at: '/segments' });
});

const post = async (path: string, body: unknown) => {
  const answer = await stage().request('POST', `/v1/my${path}`, { body });
  expect([200, 201]).toContain(answer.status);
  return answer.body;
};
const track = (event: string, contact_email: string) => post('/events', { event, contact_email });
const filtersOf = async (id: number) =>
  (await stage().request('GET', `/v1/my/segments/${id}`)).body.filters as unknown;
const click = (name: string) => page.getByRole('button', { name, exact: true }).click();
const row = (number: string) => page.getByRole('group', { name: `Filter ${number}`, exact: true });
const count = (text: string) => page.getByText(text, { exact: true }).waitFor();
const segmentId = () => Number(/segments\/(\d+)/.exec(page.url())?.[1]);

const plan = { name: 'data.plan', predicate: 'eq', value: 'pro' };
const ordered = { name: 'event.order_placed', predicate: 'did', value: { at_least: 2 } };
const german = { name: 'country_code', predicate: 'eq', value: 'DE' };

describe('a new segment', () => {
  it('is built from three rules, and its count follows the events that arrive', async () => {
    await page.getByRole('link', { name: 'New segment' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Good customers');
    await click('Create');
    await page.getByText('Without one, all contacts would be in the segment', { exact: false }).waitFor();
    await click('Add filter');
    await row('1').getByLabel('Name').selectOption('country_code');
    await row('1').getByLabel('Value').fill('Germany');
    await click('Add filter');
    await page.getByText('Complete the filters to count.').waitFor();
    await row('2').getByLabel('Name').selectOption({ label: 'plan' });
    await row('2').getByLabel('Value').fill('pro');
    await count('1 contact matches');
    await click('Add filter');
    await row('3').getByLabel('Name').selectOption({ label: 'Event order_placed' });
    await row('3').getByLabel('Times, at least').press('Backspace');
    await row('3').getByLabel('Times, at least').pressSequentially('2');
    await count('0 contacts match');
    await track('order_placed', 'dora@example.com');
    await track('order_placed', 'dora@example.com');
    await count('1 contact matches');
  });

  it('shows some that are in and some that are not, and why', async () => {
    await page
      .getByRole('region', { name: 'Among those in the segment' })
      .getByText('dora@example.com')
      .waitFor();
    await click('Why erik@example.com?');
    await page.getByText('erik@example.com is not in the segment').waitFor();
    const item = (text: string) => page.getByRole('listitem').filter({ hasText: text });
    await item('country is “DE” matches has “DE”').waitFor();
    await item('data.plan is “pro” does not match has “free”').waitFor();
    await item('event order_placed: at least 2 times does not match').waitFor();
    await checkAccessibility(page);
  });

  it('does not exist until it is created, and is kept until then', async () => {
    await stage().open(page, '/segments/new');
    await page.getByText('kept in this browser', { exact: false }).waitFor();
    await count('1 contact matches');
    expect(await row('3').getByLabel('Times, at least').inputValue()).toBe('2');
    expect((await stage().request('GET', '/v1/my/segments')).list).toEqual([]);
    await click('Create');
    await page.getByRole('heading', { level: 1, name: 'Good customers' }).waitFor();
    expect(await filtersOf(segmentId())).toEqual([german, plan, ordered]);
    await page
      .getByRole('table', { name: 'Contacts of the segment' })
      .getByText('dora@example.com')
      .first()
      .waitFor();
    await stage().open(page, '/segments/new');
    await page.getByRole('heading', { level: 1, name: 'New segment' }).waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('');
  });
});

describe('the builder', () => {
  const opened = async (filters: unknown[]) => {
    const { id } = await post('/segments', { name: 'Built', filters });
    await stage().open(page, `/segments/${String(id)}/edit`);
    return Number(id);
  };
  const publish = async (id: number) => {
    await click('Publish');
    await page.getByText('Everything is published.').waitFor();
    return filtersOf(id);
  };

  it('makes groups, chips, periods and typed numbers with the keyboard', async () => {
    const id = await opened([plan]);
    await page.getByRole('button', { name: 'Add group' }).focus();
    await page.keyboard.press('Enter');
    const group = page.getByRole('group', { name: 'Group 2' });
    await row('2.1').getByLabel('Name').selectOption('data.');
    await row('2.1').getByLabel('Key').fill('age');
    await row('2.1').getByLabel('Type').selectOption('number');
    await row('2.1').getByLabel('Predicate').selectOption('between');
    await row('2.1').getByLabel('From').fill('18');
    await row('2.1').getByLabel('To').fill('65.5');
    await group.getByRole('button', { name: 'Add filter' }).click();
    await row('2.2').getByLabel('Name').selectOption('email');
    await row('2.2').getByLabel('Predicate').selectOption('in');
    for (const address of ['a@x.test', 'b@x.test']) {
      await row('2.2').getByLabel('Add a value').fill(address);
      await page.keyboard.press('Enter');
    }
    await row('2.2').getByRole('button', { name: 'Remove a@x.test' }).click();
    await page.getByText(/Unpublished changes, saved/).waitFor();
    expect(await filtersOf(id)).toEqual([plan]);
    await click('Remove filter 1');
    await page.getByRole('group', { name: 'Group 1', exact: true }).waitFor();
    expect(await publish(id)).toEqual([
      {
        name: 'any',
        predicate: 'or',
        value: [
          { name: 'data.age', predicate: 'between', value: [18, 65.5] },
          { name: 'email', predicate: 'in', value: ['b@x.test'] },
        ],
      },
    ]);
  });

  it('keeps what it has no inputs for, and takes JSON', async () => {
    const mixed = { name: 'data.plan', predicate: 'in', value: ['pro', 7] };
    const id = await opened([mixed]);
    await row('1').getByText('This filter cannot be edited here. It stays as it is.').waitFor();
    await click('Edit as JSON');
    const json = page.getByLabel('Filters as JSON');
    expect(JSON.parse(await json.inputValue())).toEqual([{ ...mixed }]);
    await json.fill('[{"name"');
    await page.getByRole('alert').filter({ hasText: 'This is not JSON' }).waitFor();
    await json.fill(JSON.stringify([mixed, german]));
    await click('Edit as JSON');
    await row('2').getByLabel('Value').fill('FR');
    expect(await publish(id)).toEqual([mixed, { ...german, value: 'FR' }]);
  });

  it('shows at the filter what the API says of it, and does not publish that', async () => {
    stage().allow(/status of 422/);
    await opened([german]);
    await click('Add filter');
    await row('2').getByLabel('Name').selectOption('event.');
    await row('2').getByLabel('Event').fill('Order-Placed');
    await row('2').getByRole('alert').filter({ hasText: 'must be event. and a name of a-z' }).waitFor();
    expect(await page.getByRole('button', { name: 'Publish' }).isDisabled()).toBe(true);
  });
});
