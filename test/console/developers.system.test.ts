// Domains and webhooks in a real browser: the records to publish, each attempt with its answer, and what an edit keeps.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { checkAccessibility, useConsole } from '../support/console.ts';
import { type Receiver, startReceiver } from '../support/https-receiver.ts';

const HOSTILE = '<script>document.title = "ran"</script>';

const stage = useConsole();
let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(() => receiver.close());

const urlOf = (name: string) => receiver.url(`/${name}`, '127.0.0.1');

async function createWebhook(name: string, events: string[]): Promise<number> {
  const { status, body } = await stage().request('POST', '/v1/my/webhooks', {
    body: { url: urlOf(name), events },
  });
  expect(status).toBe(201);
  return Number(body.id);
}

async function sendTest(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByRole('button', { name: 'Send the test' }).click();
  await page.waitForURL(/\/deliveries\/\d+$/);
}

describe('domains', () => {
  it('shows the records to publish, and what the API says of a name', async () => {
    stage().allow(/status of 422/);
    const page = await stage().signIn({ at: '/domains' });
    await page.getByRole('heading', { name: 'No domain yet' }).waitFor();
    await checkAccessibility(page);
    await page.getByRole('button', { name: 'Add a domain' }).click();
    await page.getByLabel('Domain', { exact: true }).fill('co.uk');
    await page.getByRole('button', { name: 'Add domain' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Domain', { exact: true }).fill('console.example.com');
    await page.getByRole('button', { name: 'Add domain' }).click();
    await page.getByRole('heading', { level: 1, name: 'console.example.com' }).waitFor();
    const { body } = await stage().request<{ dns_records: { value: string }[] }[]>('GET', '/v1/my/domains');
    const [key] = body[0]?.dns_records ?? [];
    await page.getByText(String(key?.value), { exact: true }).waitFor();
    await page.getByText('Waiting for the DNS records').waitFor();
    await checkAccessibility(page);
  });
});

describe('webhooks', () => {
  it('shows the secret of a new one, and the same after it is revealed again', async () => {
    const page = await stage().signIn({ at: '/webhooks' });
    await page.getByRole('button', { name: 'Create a webhook' }).click();
    await page.getByLabel('URL').fill(urlOf('created'));
    await page.getByRole('button', { name: 'Create webhook' }).click();
    const secret = await page.getByText(/^whsec_/).textContent();
    await page.getByRole('button', { name: 'Open the webhook' }).click();
    await page.getByRole('heading', { level: 1, name: urlOf('created') }).waitFor();
    await page.getByRole('button', { name: 'Reveal' }).click();
    await page.getByText(String(secret), { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Rotate' }).click();
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    await page.getByText('The secret is rotated.').waitFor();
    await expect(page.getByText(String(secret), { exact: true }).count()).resolves.toBe(0);
  });

  it('shows each answer of an endpoint and when the next attempt is, and tries at once on request', async () => {
    receiver.answer = (_, response) => void response.writeHead(503).end(HOSTILE);
    const id = await createWebhook('failing', ['email.delivered']);
    const page = await stage().signIn({ at: `/webhooks/${id}` });
    await sendTest(page);
    await page.getByRole('heading', { name: /^Attempt 3.*503/ }).waitFor();
    await page.getByText(/^The next attempt is due/).waitFor();
    await page.getByText(HOSTILE, { exact: true }).first().waitFor();
    await expect(page.title()).resolves.not.toBe('ran');
    await page.getByText(/"test": true/).waitFor();
    await checkAccessibility(page);
    receiver.answer = (_, response) => void response.end();
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.getByRole('heading', { name: /^Attempt \d+.*200/ }).waitFor();
    await page.getByRole('button', { name: 'Send again' }).waitFor();
  });

  it('lists what failed with the answer and the time of the next attempt', async () => {
    receiver.answer = (_, response) => void response.writeHead(503).end();
    const id = await createWebhook('listed', ['email.delivered']);
    await stage().request('POST', `/v1/my/webhooks/${id}/test`, { body: {} });
    const page = await stage().signIn({ at: `/webhooks/${id}?status=retrying`, theme: 'dark' });
    const row = page.getByRole('row', { name: /email\.delivered/ });
    await row.getByText('503').waitFor();
    await row.getByText(/^in \d+ (?:second|minute)s?$/).waitFor();
    await page.getByText('Every attempt is failing').waitFor();
    await checkAccessibility(page);
  });

  it('keeps the events that were chosen through the API when someone edits the others', async () => {
    const id = await createWebhook('kept', ['email.sent', 'campaign.completed']);
    const page = await stage().signIn({ at: `/webhooks/${id}` });
    // While the page is open, another program adds an event.
    await stage().request('PATCH', `/v1/my/webhooks/${id}`, {
      body: { events: ['email.sent', 'campaign.completed', 'domain.verified'] },
    });
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('checkbox', { name: 'email.sent' }).uncheck();
    await page.getByRole('checkbox', { name: 'email.bounced' }).check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The webhook is changed.').waitFor();
    const { body } = await stage().request('GET', `/v1/my/webhooks/${id}`);
    expect(body.events).toStrictEqual(['email.bounced', 'campaign.completed', 'domain.verified']);
  });

  it('retries all that failed since a time', async () => {
    const id = await createWebhook('off', ['email.sent']);
    receiver.answer = (_, response) => void response.writeHead(500).end();
    const page = await stage().signIn({ at: `/webhooks/${id}`, width: 360 });
    await sendTest(page);
    await page.getByRole('heading', { name: /^Attempt 1/ }).waitFor();
    await stage().open(page, `/webhooks/${id}`);
    await page.getByRole('button', { name: 'Turn off' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Turn off' }).click();
    await page.getByText('The webhook is off.').waitFor();
    await page.getByRole('row', { name: /email\.sent.*failed/ }).waitFor();
    await page.getByRole('button', { name: 'Turn on' }).click();
    receiver.answer = (_, response) => void response.end();
    await page.getByRole('button', { name: 'Retry all failed' }).click();
    await page.getByRole('button', { name: 'Retry all', exact: true }).click();
    await page.getByText('1 delivery is due now.').waitFor();
    await page.getByRole('row', { name: /email\.sent.*delivered/ }).waitFor();
  });

  it('is hidden from members', async () => {
    stage().allow(/status of 403/);
    const { email } = await stage().addUser('member');
    const page = await stage().signIn({ email, at: '/webhooks' });
    await page.getByRole('alert').waitFor();
    await expect(page.getByRole('link', { name: 'Webhooks' }).count()).resolves.toBe(0);
  });
});
