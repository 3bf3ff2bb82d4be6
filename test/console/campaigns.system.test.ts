// A user makes and sends a campaign, and follows a contact through a flow, at the console in a real browser.
import { readFile } from 'node:fs/promises';
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

const click = (name: string) => page.getByRole('button', { name, exact: true }).click();
const fill = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text);

/** The id of the campaign to all contacts; its copies come later. */
async function firstCompleted(): Promise<number> {
  const { list } = await stage().request('GET', '/v1/my/campaigns?status=completed');
  return Math.min(...list.map(({ id }) => Number(id)));
}

async function newCampaign(channel: string): Promise<void> {
  await click('New campaign');
  await page.getByRole('menuitem', { name: channel }).click();
  await page.getByRole('heading', { level: 1, name: 'New campaign' }).waitFor();
}

/** Closes the dialog before the template has come. */
async function closeWhileLoading(): Promise<void> {
  const path = `**/v1/my/templates/${templateId}`;
  const closed = Promise.withResolvers<void>();
  await page.route(path, async (route) => {
    await closed.promise;
    await route.continue();
  });
  await click('Load a template');
  await page.getByRole('dialog').getByLabel('Template').selectOption({ label: 'Spring' });
  const answer = page.waitForResponse(path);
  await click('Replace the letter');
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
  closed.resolve();
  await (await answer).finished();
  await page.unroute(path);
  await page.getByRole('heading', { name: 'Choose a design' }).waitFor();
}

describe('a campaign at the console', () => {
  it(
    'is written at its editor, previewed, sent, and followed until all 100 recipients are done with',
    async () => {
      await page.getByText('No campaigns here').waitFor();
      await newCampaign('By email');
      await page.getByText('This is missing or wrong:').waitFor();
      await fill('Name', `Sale ${SCRIPT}`);
      await page.getByLabel('List', { exact: true }).selectOption({ label: 'Customers' });
      await page.getByText('100 contacts, 100 of them subscribed to email').waitFor();

      await closeWhileLoading();
      await click('Load a template');
      await page.getByRole('dialog').getByLabel('Template').selectOption({ label: 'Spring' });
      await click('Replace the letter');
      const preview = page.frameLocator('iframe[title="Preview of the letter"]');
      await preview.getByText('The spring is here.').waitFor();
      const body = page.getByLabel('Body', { exact: true });
      await body.fill(`${await body.inputValue()}<p>It ends on {{ sale_ends | default: "Sunday" }}.</p>`);
      await preview.getByText('It ends on Sunday.').waitFor();
      await page.getByLabel('Show it for this contact').fill('contact0@example.com');
      await page
        .getByText(`Hi Ada ${SCRIPT}`)
        .or(page.getByText(`Hi there ${SCRIPT}`))
        .first()
        .waitFor();

      await click('Send a test');
      expect(await page.getByLabel('To', { exact: true }).inputValue()).toBe(stage().email);
      await click('Send');
      await page.getByRole('link', { name: /^Message \d+ to/ }).waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).first().click();

      await click('Save as a template');
      await fill('Name of the template', 'Sale');
      await click('Save');
      await page.getByText('The letter is a template now: Sale.').waitFor();
      await page.getByText('Nothing is missing. It can be sent.').waitFor();
      await checkAccessibility(page);

      await click('Send…');
      const summary = page.getByRole('dialog');
      await summary.getByText('100 contacts').waitFor();
      await summary.getByText('list Customers').waitFor();
      await summary.getByText(/^sandbox-\d+@/).waitFor();
      await summary.getByText('Hi {{ contact.first_name | default: "there" }}', { exact: false }).waitFor();
      await click('Send now');
      await page.locator(':focus').getByRole('heading', { name: 'Progress' }).waitFor();
      expect(await page.evaluate('scrollY')).toBe(0);
      await page.getByText('100 of 100').waitFor({ timeout: SENT_FAR_LATER });
      await page.getByText('completed', { exact: true }).waitFor({ timeout: SENT_FAR_LATER });
      await page.getByRole('heading', { level: 1, name: `Sale ${SCRIPT}` }).waitFor();
      await page.getByRole('heading', { name: 'Domains of recipients' }).waitFor();
      await page.frameLocator('iframe[title^="Content of"]').getByText('It ends on Sunday.').waitFor();
      await checkAccessibility(page);
      expect(await page.title()).not.toBe('run');
    },
    2 * SENT_FAR_LATER,
  );

  it(
    'is copied for those who have not opened it, by filters that its user sees and changes',
    async () => {
      const { pool } = stage().database;
      const { list } = await stage().request('GET', '/v1/my/campaigns');
      const id = Number(list[0]?.id);
      await pool.query(
        'update messages set opened_at = now() where campaign_id = $1 and contact_id = any($2)',
        [id, contactIds.slice(0, 40)],
      );
      await stage().open(page, `/campaigns/${id}`);
      await click('Duplicate');
      await page.getByRole('menuitem', { name: 'For those who have not opened it' }).click();
      await page.getByText('60 contacts, 60 of them subscribed to email').waitFor();
      const second = page.getByRole('group', { name: 'Filter 2' });
      expect(await second.getByLabel('Name').inputValue()).toBe('email_opened');
      expect(await second.getByLabel('Predicate').inputValue()).toBe('did_not');
      expect(await second.getByLabel('Which email').inputValue()).toBe(`campaign ${id}`);
      await checkAccessibility(page);

      await second.getByLabel('Predicate').selectOption('did');
      await page.getByText('40 contacts, 40 of them subscribed to email').waitFor();
      await click('Add filter');
      await page.getByText('Complete the filters first.').first().waitFor();
      await click('Remove filter 3');
      await page.getByText('Nothing is missing. It can be sent.').waitFor();
      await click('Send…');
      const summary = page.getByRole('dialog');
      await summary
        .getByText(
          /list Customers, who match: was sent the campaign Sale .* and has opened the campaign Sale/,
        )
        .waitFor();
      await click('Send now');
      await page.getByText('40 of 40').waitFor({ timeout: SENT_FAR_LATER });
      await page.getByText(/^has opened the campaign Sale/).waitFor();
    },
    SENT_FAR_LATER,
  );

  it('lists its recipients by the filters in the URL', async () => {
    await stage().open(page, `/campaigns/${await firstCompleted()}/recipients?state=sent`);
    await page.getByText('100 in all').waitFor();
    await page.getByLabel('State', { exact: true }).selectOption('failed');
    await page.getByText('No recipient matches.').waitFor();
    expect(page.url()).toContain('state=failed');
  });

  it('stays a draft, and shows at their places what a send would refuse', async () => {
    const { id } = await post('/campaigns', { name: 'Incomplete' });
    await stage().open(page, `/campaigns/${Number(id)}`);
    const list = page.getByRole('combobox', { name: 'List', exact: true });
    await page.getByText('This is missing or wrong:').waitFor();
    await page.getByRole('button', { name: /^Announcement/ }).click();
    await page.keyboard.type('News');
    expect(await page.getByLabel('Subject', { exact: true }).inputValue()).toBe('News');
    await page.getByRole('textbox', { name: 'Text', exact: true }).getByText('What is new').waitFor();
    await page.frameLocator('iframe[title="Preview of the letter"]').getByText('What is new').waitFor();
    await page.getByText(/^Sender sandbox-/).waitFor();
    expect(await list.getAttribute('aria-invalid')).toBeNull();
    await click('Send…');
    await page.getByText('list is required, or a segment', { exact: false }).waitFor();
    expect(await list.getAttribute('aria-invalid')).toBe('true');
    await click('Audience');
    expect(await page.locator(':focus').getByRole('heading', { name: 'Audience' }).count()).toBe(1);
    const { body } = await stage().request('GET', `/v1/my/campaigns/${Number(id)}`);
    expect(body.status).toBe('draft');
  });

  it('is for a segment that is made at its editor, at a pace and in variants', async () => {
    const { id } = await post('/campaigns', {
      name: 'Variants',
      template_attributes: { subject: 'Hi', body: '<p>Hello</p>' },
    });
    await stage().open(page, `/campaigns/${Number(id)}`);
    await click('New segment');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).first().fill('Everyone called Ada');
    await click('Create the segment');
    await dialog.getByText('Add a filter first.', { exact: false }).waitFor();
    await dialog.getByRole('button', { name: 'Add filter' }).click();
    await dialog.getByLabel('Name', { exact: true }).last().selectOption('email');
    await dialog.getByLabel('Value').fill('contact1@example.com');
    await dialog.getByText('1 contacts').waitFor();
    await click('Create the segment');
    await page.getByText('1 contact, 1 of them subscribed to email').waitFor();
    await fill('Maximum messages per minute', '50');
    await page.getByLabel('A/B test').check();
    await page.getByLabel('Subject', { exact: true }).nth(1).fill('One');
    await page.getByLabel('Subject', { exact: true }).nth(2).fill('Two');
    await page.getByText('60 % get the best variant.').waitFor();
    await page
      .getByText(/cannot decide the winner|Nothing is missing/)
      .first()
      .waitFor();
    await click('Save');
    await page.getByText('The campaign is saved.').waitFor();
    const { body } = await stage().request('GET', `/v1/my/campaigns/${Number(id)}`);
    expect(body.data).toMatchObject({
      options: {
        throttle_per_minute: 50,
        ab: {
          variants: [
            { subject: 'One', weight: 20 },
            { subject: 'Two', weight: 20 },
          ],
        },
      },
    });
    expect(body.trigger).toMatchObject({ segment_id: expect.any(Number) });
  });

  it('is sent, resumed and copied only as its user sees it', async () => {
    const { id } = await post('/campaigns', {
      name: 'Ours',
      trigger_attributes: { contact_list_id: listId },
      template_attributes: { template_id: templateId },
    });
    await stage().open(page, `/campaigns/${Number(id)}`);
    await page.getByText('Nothing is missing. It can be sent.').waitFor();
    await page.locator('summary', { hasText: 'Sender' }).waitFor();
    await page.getByLabel('Begins at').fill('2020-01-01T00:00');
    await page.getByText('is in the past', { exact: true }).waitFor();
    await page.getByLabel('Begins at').fill('');
    await fill('Name', 'Ours, changed');
    await page.getByText('Save or discard the changes first.').waitFor();
    await click('Duplicate');
    const copy = page.getByRole('menuitem', { name: 'For the same audience' });
    expect(await copy.getAttribute('aria-disabled')).toBe('true');
    await page.keyboard.press('Escape');
    await page.getByText(/^Unpublished changes, saved/).waitFor();

    await click('Send…');
    await page.getByRole('dialog', { name: 'Send now: “Ours, changed”?' }).waitFor();
    const path = `/v1/my/drafts/campaigns/${Number(id)}`;
    const { content, base, revision } = (await stage().request('GET', path)).body;
    const theirs = await stage().request('PUT', path, {
      body: { content: { ...content, name: 'Theirs' }, base },
      headers: { 'If-Match': `"${Number(revision)}"` },
    });
    expect(theirs.status).toBe(200);
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await page.getByText('This has changed in the meantime.', { exact: false }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Theirs');
    await click('Discard changes');
    await page.getByText('Save or discard the changes first.').waitFor({ state: 'detached' });
    expect((await stage().request('GET', `/v1/my/campaigns/${Number(id)}`)).body.status).toBe('draft');
  });

  it('is checked again when a check could not be made', async () => {
    stage().allow(/status of 429|status of 503|Failed to load resource/);
    const { id } = await post('/campaigns', { name: 'Unchecked' });
    let failures = ['429', '503', '503', '503'];
    await page.route('**/v1/my/campaigns/*/check', async (route) => {
      const [status, ...others] = failures;
      failures = others;
      if (status === undefined) return route.continue();
      return route.fulfill({
        status: Number(status),
        headers: { 'Retry-After': '0' },
        json: { code: 'unavailable', message: `Refused with ${status}` },
      });
    });
    await stage().open(page, `/campaigns/${Number(id)}`);
    await page.getByText('It could not be checked').waitFor();
    await page.getByText('Refused with 503').waitFor();
    await click('Check again');
    await page.getByText('This is missing or wrong:').waitFor();
    await page.unroute('**/v1/my/campaigns/*/check');
  });

  it('by SMS shows its segments as they are written', async () => {
    await stage().open(page, '/campaigns');
    await newCampaign('By SMS');
    await fill('Text', 'The spring is “here”.');
    await click('Insert a value into Text');
    await page.keyboard.type('company');
    await page.keyboard.press('Enter');
    await click('Insert');
    await page.getByText('The spring is “here”.Acme').waitFor();
    await fill('Text', 'The spring is “here”.');
    await page.getByText('21 of 70 characters, 1 segment (UCS-2)').waitFor();
    await page.getByText('“ ” cannot be sent in GSM-7', { exact: false }).waitFor();
    await fill('Text', 'x'.repeat(161));
    await page.getByText(/characters in 2 segments of up to 153 \(GSM-7\)/).waitFor();
    await checkAccessibility(page);
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
    await fill('Name', 'Later still');
    await click('Save');
    await page.getByRole('heading', { level: 1, name: 'Later still' }).waitFor();
    stage().allow(/status of 412/);
    await stage().request('PATCH', `/v1/my/campaigns/${id}`, { body: { name: 'Renamed by another' } });
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('heading', { level: 1, name: 'Renamed by another' }).waitFor();
    expect((await stage().request('GET', `/v1/my/campaigns/${id}`)).body.status).toBe('paused');
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('active', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Cancel it' }).click();
    await page.getByText('draft', { exact: true }).waitFor();
  });
});

describe('the recipients of a campaign', () => {
  let id: number;
  beforeAll(async () => {
    id = await firstCompleted();
  });

  it('are not written to by another sender while their campaign is paused', async () => {
    const setStatus = (status: string) =>
      stage().database.pool.query('update campaigns set status = $2 where id = $1', [id, status]);
    await setStatus('paused');
    await stage().open(page, `/campaigns/${id}`);
    await page.getByLabel('Body', { exact: true }).waitFor();
    expect(await page.locator('summary', { hasText: 'Sender' }).count()).toBe(0);
    await setStatus('completed');
  });

  it('are saved as a file, as far as the filters select them', async () => {
    await stage().open(page, `/campaigns/${id}/recipients?state=sent`);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download as CSV' }).click(),
    ]);
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
    expect(lines).toHaveLength(101);
    expect(lines.filter((line) => line.includes('contact7@example.com'))).toHaveLength(1);
  });

  it('are sent to again where it is unknown whether they have it', async () => {
    const { rows } = await stage().database.pool.query<{ id: number }>(
      `update messages set status = 'unknown', unknown_at = now(), sent_at = null, delivered_at = null,
         sent_attempt = null, response = null, provider_message_id = null
       where id = (select min(id) from messages where campaign_id = $1) returning id`,
      [id],
    );
    await stage().database.pool.query('update campaign_blocks set recount = true where campaign_id = $1', [
      id,
    ]);
    await stage().open(page, `/campaigns/${id}`);
    await page.getByRole('button', { name: 'Resend unknown' }).click();
    await page.getByRole('dialog', { name: 'Send again to 1 recipient?' }).waitFor();
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('The messages are sent again.').waitFor();
    const queued = await stage().database.pool.query('select 1 from send_queue where message_id = $1', [
      rows[0]?.id,
    ]);
    expect(queued.rows).toHaveLength(1);
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
    await page.frameLocator('iframe[title="Preview of Email 2"]').getByText('Welcome to Acme.').waitFor();
    await email.press('ArrowDown');
    expect(await page.locator(':focus').textContent()).toContain('Exit');
    await checkAccessibility(page);

    await page.getByRole('button', { name: 'Activate' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Activate' }).click();
    await page.getByText('active', { exact: true }).waitFor();
  });

  it('lets a contact enter as its trigger does, and shows the run', async () => {
    const [contactId] = contactIds;
    await page.getByRole('button', { name: 'Let a contact enter' }).click();
    const dialog = page.getByRole('dialog');
    const send = dialog.getByRole('button', { name: 'Let it enter' });
    expect(await send.isDisabled()).toBe(true);
    await dialog.getByLabel('Contact').fill('contact0@example.com');
    await dialog.getByRole('button', { name: 'Add a value' }).click();
    await dialog.getByLabel('Name').fill('seats');
    await dialog.getByLabel('Type of seats').selectOption('number');
    await send.click();
    // A number is missing, so nothing is sent.
    expect(await dialog.locator('input:invalid').count()).toBe(1);
    await dialog.getByLabel('Value of seats').fill('3');
    await checkAccessibility(page);
    await send.click();
    await dialog.getByText('The contact has entered').waitFor();
    const { rows } = await stage().database.pool.query<{ data: unknown }>(
      `select event -> 'data' as data from flow_runs where contact_id = $1`,
      [contactId],
    );
    expect(rows).toEqual([{ data: { seats: 3 } }]);
    await dialog.getByRole('link', { name: /^Run / }).click();
    await page.getByRole('heading', { level: 1, name: /^Run / }).waitFor();
  });

  it('shows where a run went and what it waits for, and cancels it', async () => {
    await eventually(async () => {
      const { list } = await stage().request('GET', `/v1/my/flows/${flowId}/runs`);
      expect(list[0]?.waits_for).toBe('time');
    });
    await stage().open(page, `/flows/${flowId}/runs?state=active`);
    await page.getByRole('link', { name: 'contact0@example.com', exact: true }).waitFor();
    await page.getByRole('cell', { name: 'Wait 4: 1 day' }).waitFor();
    await page.getByRole('row').nth(1).press('Enter');
    await page.getByRole('heading', { level: 1, name: /^Run / }).waitFor();
    await page.getByRole('link', { name: 'contact0@example.com', exact: true }).waitFor();
    await page.getByRole('cell', { name: 'Email 2: Welcome' }).waitFor();

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
    await page.getByLabel('Show it for this contact').fill('contact0@example.com');
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
    expect(list.map(({ name }) => name)).toEqual(['Sale', 'Spring']);
  });
});
