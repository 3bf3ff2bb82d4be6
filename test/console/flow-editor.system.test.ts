// A user draws a flow by mouse and by keys, simulates and activates it, and changes it while runs are under way.
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { checkAccessibility, useConsole } from '../support/console.ts';
import { insertContacts } from '../support/contacts.ts';
import { eventually } from '../support/eventually.ts';

const DAY = 86_400;

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
  await eventually(async () => {
    const { list } = await stage().request('GET', `/v1/my/flows/${flow}/runs?step_id=${step}`);
    const there = list.map(({ contact_id: id }) => id);
    expect(there).toEqual(expect.arrayContaining([...contacts]));
  });
}

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
    await page.screenshot({ path: '/tmp/fg-versions.png', fullPage: true });
    await page.getByLabel('Compare').selectOption({ label: 'Version 2 (current)' });
    await page.getByText('The steps are the same.').waitFor();
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
