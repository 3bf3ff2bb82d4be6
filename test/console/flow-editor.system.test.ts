// A user draws a flow by mouse and by keys, simulates and activates it, and changes it while runs are under way.
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { checkAccessibility, useConsole } from '../support/console.ts';
import { insertContacts } from '../support/contacts.ts';
import { eventually } from '../support/eventually.ts';
import { drag, drawFlow, type Hand, keyboard, mouse } from '../support/flow-drawing.ts';

const DAY = 86_400;
/** The ids that steps get follow their order in the flow. */
const WAIT_FOR_EVENT = 7;

const stage = useConsole();
let page: Page;
let contactIds: number[];

async function post(path: string, body: unknown) {
  const response = await stage().request('POST', `/v1/my${path}`, { body });
  if (response.status >= 300) throw new Error(`${path}: ${response.text}`);
  return response.body;
}

beforeAll(async () => {
  contactIds = await insertContacts(stage().database.pool, stage(), 4);
  await stage().request('PUT', '/v1/my/brand', {
    body: { company_name: 'Acme', physical_address: '1 Bell Lane, Rotterdam' },
  });
  page = await stage().signIn({ at: '/flows' });
}, 60_000);

/** Lets contacts enter, and waits until they are at a step. */
async function enter(flow: number, contacts: readonly number[], step: number): Promise<void> {
  await post(`/flows/${flow}/enter`, { contact_ids: contacts });
  await waitAt(flow, contacts, step);
}

async function waitAt(flow: number, contacts: readonly number[], step: number): Promise<void> {
  await eventually(async () => {
    const { list } = await stage().request('GET', `/v1/my/flows/${flow}/runs?step_id=${step}`);
    const there = list.map(({ contact_id: id }) => id);
    expect(there).toEqual(expect.arrayContaining([...contacts]));
  });
}

/** Checks and previews of half a step are refused. */
function allowUnfinished(): void {
  stage().allow(/422 .*\/(?:flows\/check|previews) /);
}

const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
const flowOf = async (id: number) => (await stage().request('GET', `/v1/my/flows/${id}`)).body;

/** Presses the button that creates a flow, and returns the id of the flow that opens. */
async function createFlow(hand: Hand, name: string): Promise<number> {
  await stage().open(page, '/flows');
  await hand.press(button('New flow'));
  await hand.type(page.getByRole('region', { name: 'Who enters' }).getByLabel('Name', { exact: true }), name);
  await page.getByRole('heading', { level: 1, name }).waitFor();
  return Number(/flows\/(\d+)\/edit/.exec(page.url())?.[1]);
}

/** The steps of a flow without the ids of its templates. */
async function stepsOf(id: number): Promise<string> {
  const { steps } = await flowOf(id);
  return JSON.stringify(steps, (name, value: unknown) => (name === 'template_id' ? undefined : value), 2);
}

describe('the editor of flows', () => {
  let byMouse: number;

  it('draws twelve steps with two branches by mouse, and moves one by dragging it', async () => {
    allowUnfinished();
    byMouse = await createFlow(mouse, 'By mouse');
    await drawFlow(page, mouse);
    await button('Fit').click();
    await drag(page, /^SMS new 2/, 'Add a step after SMS new 1');
    await button(/^SMS new 2.*In the branch yes/s).waitFor();
    await button('Undo').click();
    await button(/^SMS new 2.*In the branch in time/s).waitFor();
    await checkAccessibility(page);
  }, 90_000);

  it('shows the way of a simulated contact, and activates the flow', async () => {
    allowUnfinished();
    await button('Simulate').click();
    await page.getByLabel('Contact', { exact: true }).fill('contact0@');
    await page.getByText(`(contact ${contactIds[0]})`).waitFor();
    await page
      .getByLabel('Wait for an event new 1', { exact: true })
      .selectOption({ label: 'A matching event arrives' });
    await page.locator('form').getByRole('button', { name: 'Simulate' }).click();
    // The form is long, so the focus goes to what it found.
    await page.locator(':focus').getByText('It leaves the flow: done').waitFor();
    await page.getByText('SMS new 1: skipped (no address)').waitFor();
    await button(/^Condition new 1.*yes/s).waitFor();
    const taken = await page.locator('button.flow-box.taken strong').allInnerTexts();
    expect(taken).toEqual([
      'Update the contact new 1',
      'Condition new 1',
      ...['SMS new 1', 'Track an event new 1'],
      'Wait for an event new 1',
      ...['Update the contact new 2', 'SMS new 2'],
      'Exit new 2',
    ]);
    await button('Publish').click();
    await page.getByText('The checks found no problems.').waitFor();
    await checkAccessibility(page);
    await button('Publish and activate').click();
    await page.getByText('The flow is published and active.').waitFor();
    await button('Let a contact enter').waitFor();
    expect((await flowOf(byMouse)).status).toBe('active');
  });

  it('draws the same flow by the keyboard alone, in the outline', async () => {
    allowUnfinished();
    const id = await createFlow(keyboard, 'By keys');
    await keyboard.press(button('Outline'));
    await drawFlow(page, keyboard);
    await checkAccessibility(page);
    await keyboard.press(button('Publish'));
    await keyboard.press(button('Publish as a draft'));
    await page.getByText('The flow is published.', { exact: true }).waitFor();
    expect(await stepsOf(id)).toBe(await stepsOf(byMouse));
  }, 90_000);

  it('lets runs under way finish on their version when a second one is published', async () => {
    allowUnfinished();
    const track = (event: string) => post('/events', { event, contact_email: 'contact0@example.com' });
    await track('signed_up');
    await waitAt(byMouse, contactIds.slice(0, 1), WAIT_FOR_EVENT);
    await stage().open(page, `/flows/${byMouse}/edit`);
    await button(/^SMS 9/).click();
    await button('Remove').click();
    await button(/^SMS 9/).waitFor({ state: 'detached' });
    await button('Publish').click();
    await page.getByText('Now, 1 run follows version 1.').waitFor();
    expect(await page.getByLabel('They finish on their version').isChecked()).toBe(true);
    await button('Show the changes').click();
    await page.getByText('Steps: 1 removed.').waitFor();
    await checkAccessibility(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Publish', exact: true }).click();
    await page.getByText('The flow is published.', { exact: true }).waitFor();

    await enter(byMouse, contactIds.slice(1, 2), WAIT_FOR_EVENT);
    await track('bought');
    const runs = async () => (await stage().request('GET', `/v1/my/flows/${byMouse}/runs`)).list;
    await eventually(async () => {
      expect(await runs()).toEqual([
        expect.objectContaining({ version: 2, state: 'active' }),
        expect.objectContaining({ version: 1, state: 'exited', reason: 'done' }),
      ]);
    });
    await stage().open(page, `/flow-runs/${Number((await runs())[1]?.id)}`);
    await page.getByRole('heading', { name: 'By mouse, version 1' }).waitFor();
    await button(/^SMS 9.*skipped/s).waitFor();
  }, 60_000);
});

describe('the versions of a flow', () => {
  let flow: number;

  beforeAll(async () => {
    const steps = [
      { type: 'update_contact', id: 1, data: { stage: 'new' } },
      { type: 'wait', id: 2, duration: DAY },
      { type: 'update_contact', id: 3, data: { stage: 'old' } },
    ];
    flow = Number((await post('/flows', { name: 'Stages', trigger: { event: 'staged' }, steps })).id);
    await post(`/flows/${flow}/activate`, {});
    await enter(flow, contactIds.slice(0, 2), 2);
    const changed = [steps[1], { type: 'wait', duration: 60 }, { ...steps[2], data: { stage: 'later' } }];
    await stage().request('PATCH', `/v1/my/flows/${flow}`, { body: { steps: changed } });
    await enter(flow, contactIds.slice(2, 3), 2);
  }, 60_000);

  it('are listed with the runs that follow them, and shown side by side', async () => {
    await stage().open(page, `/flows/${flow}/versions`);
    const row = (name: string) => page.getByRole('row').filter({ hasText: name }).first();
    await row('Version 1').getByRole('link', { name: '2', exact: true }).waitFor();
    await row('Version 2').getByRole('link', { name: '1', exact: true }).waitFor();
    await page.getByText('Steps: 1 added, 1 removed, 1 changed.').waitFor();
    const changed = page.locator('tr.changed').filter({ hasText: 'stage: “later”' });
    expect(await changed.innerText()).toContain('stage: “old”');
    await checkAccessibility(page);
    await page.getByLabel('Compare').selectOption({ label: 'Version 2 (current)' });
    await page.getByText('The steps are the same.').waitFor();

    const { goal, trigger, steps: live } = (await stage().request('GET', `/v1/my/flows/${flow}`)).body;
    const content = { name: 'Stages', goal, trigger, steps: (live as unknown as unknown[]).slice(1) };
    const draft = { body: { content, base: '"1"' } };
    await stage().request('PUT', `/v1/my/drafts/flows/${flow}`, draft);
    await stage().open(page, `/flows/${flow}/versions`);
    await page.getByLabel('with').selectOption({ label: 'Unpublished changes' });
    await page.getByLabel('Compare').selectOption({ label: 'Version 2 (current)' });
    await page.getByText('Steps: 1 removed.').waitFor();
    await stage().open(page, page.url().replace(/^.*?\/brands\/\d+/, ''));
    await page.getByText('Steps: 1 removed.').waitFor();
  });

  it('draw a run as the version that it follows', async () => {
    await stage().open(page, `/flows/${flow}/versions`);
    await page.getByRole('row').filter({ hasText: 'Version 1' }).getByRole('link').first().click();
    await page
      .getByRole('link', { name: /^Run \d/ })
      .first()
      .click();
    await page.getByRole('heading', { name: 'Stages, version 1' }).waitFor();
    await page.getByRole('button', { name: /Wait 2.*The run is here/s }).waitFor();
    await page.getByRole('button', { name: /Update the contact 1/ }).waitFor();
  });
});
