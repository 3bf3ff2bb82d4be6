// A user says in forms what each step of a flow does, moves and copies steps, and the API gets exactly that.
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { checkAccessibility, useConsole } from '../support/console.ts';

const stage = useConsole();
let page: Page;
let listId: number;

const post = async (path: string, body: unknown) => {
  const answer = await stage().request('POST', `/v1/my${path}`, { body });
  expect([200, 201]).toContain(answer.status);
  return answer.body;
};

beforeAll(async () => {
  listId = Number((await post('/lists', { name: 'Customers' })).id);
  page = await stage().signIn({ at: '/flows' });
});

const flowId = () => Number(/flows\/(\d+)/.exec(page.url())?.[1]);
const flow = async () => (await stage().request('GET', `/v1/my/flows/${flowId()}`)).body;
const click = (name: string) => page.getByRole('button', { name, exact: true }).click();
const line = (name: string) => page.locator('.flow-line').filter({ hasText: name });
const panel = (name: string) => page.getByRole('region', { name, exact: true });
const field = (name: string, label: string) => panel(name).getByLabel(label, { exact: true });
const lines = () => page.locator('.flow-line strong').allTextContents();

/** Half a step is refused, and a busy machine refuses previews. */
const allowUnfinished = () => stage().allow(/status of 422|status of 503 .*\/previews/);

async function addAfter(place: string, type: string): Promise<void> {
  await click(`Add a step ${place}`);
  await page.getByRole('dialog').getByRole('button', { name: type, exact: true }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

async function newFlow(name: string): Promise<void> {
  await click('New flow');
  await field('Who enters', 'Name').fill(name);
  await page.getByRole('heading', { level: 1, name }).waitFor();
  await click('Outline');
}

async function publishDraft(): Promise<void> {
  await click('Publish');
  await click('Publish as a draft');
  await page.getByText('Everything is published.').waitFor();
}

async function addValue(
  name: string,
  { name: key, type = 'text', value }: { name: string; type?: string; value?: string },
): Promise<void> {
  await panel(name).getByRole('button', { name: 'Add a value' }).click();
  await panel(name).getByLabel('Name', { exact: true }).last().fill(key);
  await field(name, `Type of ${key}`).selectOption(type);
  if (value !== undefined) await field(name, `Value of ${key}`).fill(value);
}

/** What the forms have said, as the API has it. */
const published = () => ({
  name: 'Trial of thirty days',
  goal: 'order_placed',
  unknown: 'resend',
  trigger: { event: 'trial_began', data: { reentry: { after_seconds: 3 * 86_400 } } },
  steps: [
    { id: 1, type: 'email', subject: 'Your trial' },
    { id: 2, type: 'wait', duration: 7_200 },
    {
      id: 3,
      type: 'condition',
      filters: [{ name: 'email_opened', predicate: 'did', value: { step: 1 } }],
      yes: [{ id: 4, type: 'sms', body: 'You read it' }],
      no: [{ id: 5, type: 'exit', reason: 'not_read' }],
    },
    {
      id: 6,
      type: 'wait_for_event',
      event_name: 'feature_used',
      duration: 86_400,
      include_since: { step: 1 },
      yes: [{ id: 7, type: 'add_to_list', list_id: listId }],
      no: [],
    },
    {
      id: 8,
      type: 'split',
      branches: [
        {
          weight: 34,
          steps: [
            { type: 'webhook', url: 'https://example.com/hook', method: 'POST', body: { kind: 'trial' } },
            { type: 'update_contact', data: { stage: 'active', coupon: null } },
            { type: 'event', event_name: 'onboarded', data: { days: 30 } },
            { type: 'wait', until: { time: '08:30', weekdays: [1], timezone: 'contact' } },
          ],
        },
        { weight: 33, steps: [] },
        { weight: 33, steps: [] },
      ],
    },
  ],
});

describe('the forms of a flow', () => {
  it('say who enters', async () => {
    allowUnfinished();
    await newFlow('Trial');
    await line('Nobody yet').waitFor();
    await page.getByText('Add at least one step.').waitFor();
    await field('Who enters', 'Name').fill('Trial of thirty days');
    await field('Who enters', 'Event').fill('trial_began');
    await field('Who enters', 'The same contact enters').selectOption('again after a time');
    await field('Who enters', 'Not again before').fill('3');
    await field('Who enters', 'Goal').fill('order_placed');
    await field('Who enters', 'If it is unknown whether a message has left').selectOption(
      'send it again: it may arrive twice',
    );
    await line('Event trial_began').waitFor();
    await checkAccessibility(page);
  });

  it('say what each type of step does', async () => {
    allowUnfinished();
    await addAfter('at the start', 'Email');
    await click('Edit the letter');
    await page.getByRole('textbox', { name: 'Subject' }).fill('Your trial');
    await click('Back to the steps');
    await line('Your trial').waitFor();
    await click('Next step');
    await page.getByRole('dialog', { name: 'Add a step after Email new 1' }).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Wait', exact: true }).click();
    await field('Wait new 1', 'How long').fill('2');
    await field('Wait new 1', 'How long: unit').selectOption('hours');
    await addAfter('after Wait new 1', 'Condition');
    const filters = panel('Condition new 1');
    await filters.getByRole('button', { name: 'Add filter' }).click();
    await filters.getByLabel('Name').selectOption('email_opened');
    await filters.getByLabel('Which email').selectOption({ label: 'Email new 1' });
    await addAfter('in the branch “yes” of Condition new 1', 'SMS');
    await field('SMS new 1', 'Text').fill('You read it');
    await addAfter('in the branch “no” of Condition new 1', 'Exit');
    await field('Exit new 1', 'Reason').fill('not_read');
    await addAfter('after Condition new 1', 'Wait for an event');
    await field('Wait for an event new 1', 'Event').fill('feature_used');
    await field('Wait for an event new 1', 'Which events count').selectOption(
      'also events since Email new 1',
    );
    await addAfter('in the branch “in time” of Wait for an event new 1', 'Add to a list');
    await field('Add to a list new 1', 'List').selectOption('Customers');
    await addAfter('after Wait for an event new 1', 'Split');
    await click('Add a branch');
    await click('Share evenly');
    await addAfter('in the branch “34 %” of Split new 1', 'Webhook');
    await field('Webhook new 1', 'URL').fill('https://example.com/hook');
    await field('Webhook new 1', 'Body').fill('{"kind": "trial"}');
    await addAfter('after Webhook new 1', 'Update the contact');
    await addValue('Update the contact new 1', { name: 'stage', value: 'active' });
    await addValue('Update the contact new 1', { name: 'coupon', type: 'remove it' });
    await addAfter('after Update the contact new 1', 'Track an event');
    await field('Track an event new 1', 'Event').fill('onboarded');
    await addValue('Track an event new 1', { name: 'days', type: 'number', value: '30' });
    await addAfter('after Track an event new 1', 'Wait');
    await field('Wait new 2', 'Wait').selectOption('Until a time of day');
    await field('Wait new 2', 'Time').fill('08:30');
    await field('Wait new 2', 'Monday').check();
    await publishDraft();
    expect(await flow()).toMatchObject(published());
  });

  it('refuse to move or remove a step that others name, and say which', async () => {
    await line('Email 1').focus();
    await page.keyboard.press('Delete');
    await page.getByText('Condition 3 names Email 1. Wait for an event 6 names Email 1.').waitFor();
    await line('Wait 2').focus();
    await page.keyboard.press('Alt+ArrowUp');
    expect((await lines()).slice(1, 4)).toEqual(['Wait 2', 'Email 1', 'Condition 3']);
    await page.keyboard.press('Control+z');
    await line('Wait 2').click();
    await panel('Wait 2').getByRole('button', { name: 'Move', exact: true }).click();
    await click('Put Wait 2 in the branch “too late” of Wait for an event 6');
    expect((await lines()).slice(5, 8)).toEqual(['Wait for an event 6', 'Add to a list 7', 'Wait 2']);
    await publishDraft();
    expect((await flow()).steps).toMatchObject([{ id: 1 }, { id: 3 }, { id: 6, no: [{ id: 2 }] }, { id: 8 }]);
  });

  it('copy steps into another flow, with the names among them', async () => {
    allowUnfinished();
    await line('Email 1').click();
    await click('Copy');
    await page.getByRole('menuitem', { name: 'Copy this step and all that follow' }).click();
    await page.getByRole('link', { name: 'Flows', exact: true }).click();
    await newFlow('Second trial');
    await click('Add a step at the start');
    await click('Paste Email, Condition, Wait for an event and 1 more');
    await publishDraft();
    const { steps } = published();
    const copies = (await flow()).steps as unknown as { id: number }[];
    expect(copies.map(({ id }) => id)).toEqual([1, 2, 5, 8]);
    expect(copies).toMatchObject([
      { subject: 'Your trial' },
      { filters: steps[2]?.filters },
      { include_since: { step: 1 }, no: [{ type: 'wait', duration: 7_200 }] },
      { type: 'split' },
    ]);
  });

  it('lie over the outline on a narrow page, and give the focus back', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    await line('Condition 2').click();
    await panel('Condition 2').getByRole('button', { name: 'Add filter' }).waitFor();
    await checkAccessibility(page);
    await page.keyboard.press('Escape');
    expect(await page.evaluate('document.activeElement.textContent')).toContain('Condition 2');
    expect(await page.evaluate('document.documentElement.scrollWidth > innerWidth')).toBe(false);
  });

  it('mend steps of a draft whose id or template is gone', async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    allowUnfinished();
    const letter = { subject: 'Lost', body: '<p>Lost and found</p>' };
    const steps = [
      { type: 'email', id: 99, ...letter },
      { type: 'email', ref: 'email_1', template_id: 999_999, ...letter },
      {
        type: 'condition',
        ref: 'condition_1',
        filters: [{ name: 'email_opened', predicate: 'did', value: { step: 99 } }],
        yes: [],
        no: [],
      },
    ];
    const trigger = { event: 'lost', contact_list_id: null, segment_id: null, data: {} };
    const { id, revision } = await post('/flows', { name: 'Lost', trigger: { event: 'lost' } });
    const content = { name: 'Lost', goal: null, trigger, steps };
    const body = { content, base: `"${Number(revision)}"` };
    const put = await stage().request('PUT', `/v1/my/drafts/flows/${Number(id)}`, { body });
    expect(put.status).toBeLessThan(300);
    await stage().open(page, `/flows/${Number(id)}/edit`);
    await click('Outline');
    await line('The published flow no longer has this step.').click();
    await click('Make it a new step');
    await line('The template that its content comes from no longer exists.').click();
    await checkAccessibility(page);
    await click('Keep this content');
    await publishDraft();
    expect((await flow()).steps).toMatchObject([
      { id: 1, ...letter },
      { id: 2, ...letter },
      { id: 3, filters: [{ value: { step: 1 } }] },
    ]);
  });
});
