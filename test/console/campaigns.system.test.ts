// A user makes and sends a campaign, and follows a contact through a flow, at the console in a real browser.
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { checkAccessibility, useConsole } from '../support/console.ts';
import { insertContacts } from '../support/contacts.ts';
import { eventually } from '../support/eventually.ts';

const SCRIPT = '<script>document.title = "run"</script>';
const SENT_FAR_LATER = 60_000;

const stage = useConsole();
let page: Page;
let contactIds: number[];
let listId: number;
let templateId: number;

async function post(path: string, body: unknown) {
  const response = await stage().request('POST', `/v1/my${path}`, { body });
  if (response.status >= 300) throw new Error(`${path}: ${response.text}`);
  return response.body;
}

beforeAll(async () => {
  const { database } = stage();
  contactIds = await insertContacts(database.pool, stage(), 100);
  await database.pool.query('update accounts set sandbox_monthly_cap = 1000 where id = $1', [
    stage().accountId,
  ]);
  listId = Number((await post('/lists', { name: 'Customers' })).id);
  await database.pool.query(
    'insert into list_members (contact_id, list_id) select unnest($1::bigint[]), $2',
    [contactIds, listId],
  );
  const brand = await stage().request('PUT', '/v1/my/brand', {
    body: { company_name: 'Acme', physical_address: '1 Bell Lane, Rotterdam' },
  });
  expect(brand.text).toContain('Bell Lane');
  templateId = Number(
    (
      await post('/templates', {
        name: 'Spring',
        subject: `Hi {{ contact.first_name | default: "there" }} ${SCRIPT}`,
        body: '<p>The spring is here. <a href="https://example.com/sale">See the sale</a></p>',
      })
    ).id,
  );
  page = await stage().signIn({ at: '/campaigns' });
}, 60_000);

describe('a campaign at the console', () => {
  it(
    'is made from a list and a template, sent, and followed until all 100 recipients are done with',
    async () => {
      await page.getByText('No campaigns here').waitFor();
      await page.getByRole('button', { name: 'New campaign' }).click();
      await page.getByLabel('Name', { exact: true }).last().fill(`Sale ${SCRIPT}`);
      await page.getByLabel('List').selectOption({ label: 'Customers' });
      await page.getByLabel('Template').selectOption({ label: 'Spring' });
      await page.getByRole('button', { name: 'Create a draft' }).click();

      const preview = page.frameLocator('iframe[title^="Content of"]');
      await preview.getByText('The spring is here.').waitFor();
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByRole('button', { name: 'Send now' }).click();

      await page.getByRole('link', { name: 'Report' }).click();
      await page.getByText('100 of 100').waitFor({ timeout: SENT_FAR_LATER });
      await page.getByText('completed', { exact: true }).waitFor({ timeout: SENT_FAR_LATER });
      await page.getByRole('heading', { level: 1, name: `Sale ${SCRIPT}` }).waitFor();
      await page.getByRole('heading', { name: 'Domains of recipients' }).waitFor();
      await checkAccessibility(page);
      expect(await page.title()).not.toBe('run');
    },
    2 * SENT_FAR_LATER,
  );

  it('lists its recipients by the filters in the URL', async () => {
    const { list } = await stage().request('GET', '/v1/my/campaigns');
    await stage().open(page, `/campaigns/${Number(list[0]?.id)}/recipients?state=sent`);
    await page.getByText('100 in all').waitFor();
    await page.getByLabel('State', { exact: true }).selectOption('failed');
    await page.getByText('No recipient matches.').waitFor();
    expect(page.url()).toContain('state=failed');
  });

  it('stays a draft, and names everything that is missing, if the check of the send fails', async () => {
    stage().allow(/status of 422/);
    const { id } = await post('/campaigns', { name: 'Incomplete' });
    await stage().open(page, `/campaigns/${Number(id)}`);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('button', { name: 'Send now' }).click();
    await page.getByText('The campaign was not sent').waitFor();
    const notice = page.getByRole('alert');
    await notice.getByText('trigger_attributes.contact_list_id').waitFor();
    await notice.getByText('template_attributes.subject').waitFor();
    const { body } = await stage().request('GET', `/v1/my/campaigns/${Number(id)}`);
    expect(body.status).toBe('draft');
  });

  it('goes back to a draft when it is canceled before its time', async () => {
    const campaign = await post('/campaigns', {
      name: 'Later',
      scheduled_at: '2099-01-01T00:00:00Z',
      trigger_attributes: { contact_list_id: listId },
      template_attributes: { template_id: templateId },
    });
    const id = Number(campaign.id);
    await post(`/campaigns/${id}/send`, {});
    await stage().open(page, `/campaigns/${id}`);
    await page.getByText('Waiting: schedule').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('paused', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('active', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Cancel it' }).click();
    await page.getByText('draft', { exact: true }).waitFor();
  });
});

describe('a flow at the console', () => {
  let flowId: number;

  it('shows its steps as buttons, with the branches they are in, and is activated', async () => {
    const flow = await post('/flows', {
      name: `Welcome ${SCRIPT}`,
      trigger: { event: 'signed_up' },
      steps: [
        {
          type: 'condition',
          filters: [{ name: 'email', predicate: 'present' }],
          yes: [{ type: 'email', subject: 'Welcome', body: '<p>Welcome to Acme.</p>' }],
          no: [{ type: 'exit', reason: 'no_address' }],
        },
        { type: 'wait', duration: 86_400 },
      ],
    });
    flowId = Number(flow.id);
    await stage().open(page, `/flows/${flowId}`);
    const email = page.getByRole('button', { name: /^Email 2 .* In the branch yes of step 1/s });
    await email.press('Enter');
    expect(page.url()).toContain('step=');
    await page.frameLocator('iframe[title="Preview of step 2"]').getByText('Welcome to Acme.').waitFor();
    await email.press('ArrowDown');
    expect(await page.locator(':focus').textContent()).toContain('Exit');
    await checkAccessibility(page);

    await page.getByRole('button', { name: 'Activate' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Activate' }).click();
    await page.getByText('active', { exact: true }).waitFor();
  });

  it('shows where a run went and what it waits for, and cancels it', async () => {
    const [contactId] = contactIds;
    await post(`/flows/${flowId}/enter`, { contact_ids: [contactId] });
    await eventually(async () => {
      const { list } = await stage().request('GET', `/v1/my/flows/${flowId}/runs`);
      expect(list[0]?.waits_for).toBe('time');
    });
    await stage().open(page, `/flows/${flowId}/runs?state=active`);
    await page.getByRole('link', { name: String(contactId), exact: true }).waitFor();
    await page.getByRole('row').nth(1).press('Enter');
    await page.getByRole('heading', { level: 1, name: /^Run / }).waitFor();

    await page.getByRole('button', { name: /^Condition 1.*yes/s }).waitFor();
    await page.getByRole('button', { name: /^Wait 4.*waits for its time.*The run is here/s }).waitFor();
    // The trigger, the branch yes with its way back, and the way to the wait; not the branch no.
    expect(await page.locator('polyline.taken').count()).toBe(4);
    await checkAccessibility(page);

    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Cancel it' }).click();
    await page.getByText('canceled', { exact: true }).first().waitFor();
  });
});

describe('a template at the console', () => {
  it('is shown as a contact gets it, sent as a test, duplicated and deleted', async () => {
    await stage().open(page, '/templates');
    await page.getByRole('link', { name: 'Spring' }).click();
    await page.getByText(`Hi Ada ${SCRIPT}`).waitFor();
    const [contactId] = contactIds;
    const changed = await stage().request('PATCH', `/v1/my/contacts/${contactId}`, {
      body: { first_name: 'Grace' },
    });
    expect(changed.status).toBe(200);
    await page.getByLabel('As this contact gets it').fill('contact0@example.com');
    await page.getByText(`Hi Grace ${SCRIPT}`).waitFor();

    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByLabel('To', { exact: true }).fill('stranger@example.com');
    stage().allow(/status of 422/);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('To', { exact: true }).fill(stage().email);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('link', { name: /^Message \d+ to/ }).waitFor();
    await page.getByRole('button', { name: 'Close' }).first().click();

    await page.getByRole('button', { name: 'Duplicate' }).click();
    await page.getByText('This is the copy.').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('The template is deleted.').waitFor();
    const { list } = await stage().request('GET', '/v1/my/templates');
    expect(list.map(({ id }) => Number(id))).toEqual([templateId]);
  });
});
