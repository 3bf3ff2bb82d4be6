// A person finds out at the console what is sent, how it goes, and why a message did not arrive.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { localText } from '../../console/src/ui/local-time.ts';
import { pauseAccount } from '../../src/features/brakes/service.ts';
import { openDatabase } from '../../src/platform/db/database.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { checkAccessibility, useConsole } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { testEvents } from '../support/events.ts';

const stage = useConsole();

/** One request looks at 5,000 messages. */
const MORE_THAN_A_PART = 5_010;
/** A file may have 20 MB. */
const TOO_LARGE = 21 * 1024 * 1024;
const SCRIPT = '<img src=x onerror="document.title = 1">';

async function send(fields: Record<string, unknown>): Promise<number> {
  const body = { channel: 'email', subject: 'Your order', html: '<p>Thanks.</p>', ...fields };
  const sent = await stage().request('POST', '/v1/my/messages', { body });
  expect(sent.status).toBe(201);
  return Number(sent.body.id);
}

async function waitForStatus(id: number, status: string): Promise<void> {
  await eventually(async () => {
    const { body } = await stage().request('GET', `/v1/my/messages/${id}`);
    expect(body.status).toBe(status);
  });
}

async function suppress(email: string): Promise<void> {
  const { status } = await stage().request('POST', '/v1/my/suppressions', { body: { email } });
  expect(status).toBe(201);
}

let shared: Promise<Page> | undefined;

/** Opens a page in a window in which the owner is signed in, the same for all tests, because signing in takes long. */
async function open(path: string): Promise<Page> {
  shared ??= stage().signIn();
  const page = await shared;
  await stage().open(page, path);
  return page;
}

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

describe('the overview', () => {
  it('sends a first message to the user, and shows what became of it', async () => {
    // What the API says of the wrong address.
    stage().allow(/status of 422/);
    const page = await open('');
    await page.getByRole('listitem').getByRole('button', { name: 'Send a message to yourself' }).click();
    const dialog = page.getByRole('dialog', { name: 'Send a message' });
    await dialog.getByLabel('To').fill('nobody');
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('To').fill(stage().email);
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await heading(page, 'Hello from Carillon');
    await page.getByText('Nothing was delivered: this is what a real message would show.').waitFor();
  });

  it('leads from a recipient to the reason why a message failed', async () => {
    await suppress('gone@example.com');
    const id = await send({ to: 'gone@example.com' });
    await waitForStatus(id, 'failed');
    const page = await open('');
    await page.getByLabel('A message did not arrive?').fill('gone@example.com');
    await page.getByRole('button', { name: 'Find messages' }).click();
    await page.getByRole('table', { name: 'Messages' }).getByText('The address is suppressed').waitFor();
    await page.getByRole('link', { name: 'gone@example.com' }).click();
    await heading(page, 'Your order');
    await page.getByText('end its suppression and send again').waitFor();
    await checkAccessibility(page);
    await page.getByRole('link', { name: 'Open suppressions' }).click();
    await page.waitForURL(/\/suppressions\?email=gone(@|%40)example\.com$/);
  });

  it('counts what was sent in the chosen period, and has the same figures in a table', async () => {
    await waitForStatus(await send({ to: 'counted@example.com' }), 'delivered');
    const page = await open('?period=7d&source=api');
    const sent = page.locator('.figure').first().locator('strong');
    await eventually(async () => {
      await page.reload();
      expect(Number(await sent.textContent())).toBeGreaterThanOrEqual(1);
    });
    await page.getByRole('button', { name: 'Show as a table' }).click();
    // A row of the head, and one for each day.
    await expect(
      page.getByRole('table', { name: 'Messages, last 7 days' }).getByRole('row').count(),
    ).resolves.toBe(8);
    await page.getByLabel('Sent by').selectOption('flow');
    await page.waitForURL(/source=flow/);
    await eventually(async () => expect(await sent.textContent()).toBe('0'));
    await checkAccessibility(page);
  });
});

describe('a message', () => {
  it('shows a stranger’s markup as text, and runs no script of its HTML', async () => {
    const html = `<p>Hello</p>${SCRIPT}<script>document.title = 2</script>`;
    const id = await send({ to: 'ada@example.com', subject: SCRIPT, html, tags: { kind: SCRIPT } });
    const page = await stage().signIn({ at: `/messages/${id}`, theme: 'dark', width: 360 });
    await heading(page, SCRIPT);
    await page.frameLocator('iframe[title="The message"]').getByText('Hello').waitFor();
    await page.getByRole('tab', { name: 'Headers and tags' }).click();
    await page.getByRole('definition').filter({ hasText: SCRIPT }).waitFor();
    await expect(page.title()).resolves.not.toMatch(/^[12]$/);
    await expect(page.evaluate('document.documentElement.scrollWidth > innerWidth')).resolves.toBe(false);
    await checkAccessibility(page);
  });

  it('is sent once more as a new message', async () => {
    const id = await send({ to: 'again@example.com' });
    const page = await open(`/messages/${id}`);
    await page.getByRole('button', { name: 'Resend' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resend' }).click();
    await page.waitForURL((url) => /\/messages\/\d+$/.test(url.pathname) && !url.pathname.endsWith(`/${id}`));
    const { body } = await stage().request('GET', '/v1/my/messages?to=again@example.com');
    expect(body).toHaveLength(2);
  });
});

describe('a letter with a file', () => {
  const pdf = Buffer.from('%PDF-1.4\nYour ticket\n%%EOF\n');
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'carillon-chosen-files-'));
    await writeFile(join(folder, 'ticket.pdf'), pdf);
    await writeFile(join(folder, 'setup.exe'), 'MZ');
    await writeFile(join(folder, 'film.mp4'), Buffer.alloc(TOO_LARGE));
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** Chooses files. The first upload fails and is repeated; two files are refused and removed. */
  async function addFiles(page: Page, dialog: Locator): Promise<void> {
    await page.route('**/v1/my/attachments', (route) => route.abort(), { times: 1 });
    await dialog
      .getByLabel('Add files')
      .setInputFiles(['ticket.pdf', 'setup.exe', 'film.mp4'].map((name) => join(folder, name)));
    const files = dialog.getByRole('list', { name: 'Files' }).getByRole('listitem');
    await files
      .filter({ hasText: 'setup.exe' })
      .getByText('It is a Windows program, which large mailbox providers refuse.')
      .waitFor();
    await files.filter({ hasText: 'film.mp4' }).getByText('a file can have at most 20 MB').waitFor();
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await dialog.getByRole('button', { name: 'Upload ticket.pdf again' }).click();
    await dialog.getByText('Remove the files that could not be uploaded').waitFor();
    await dialog.getByRole('button', { name: 'Remove setup.exe' }).click();
    await dialog.getByRole('button', { name: 'Remove film.mp4' }).click();
    await expect(files.count()).resolves.toBe(1);
    await page.getByRole('progressbar').waitFor({ state: 'detached' });
  }

  it('goes to several people, and shows each copy, and the file', async () => {
    stage().allow(/status of (413|422)|ERR_FAILED/);
    await suppress('away@example.com');
    const page = await open('/messages');
    const dialog = page.getByRole('dialog', { name: 'Send a message' });
    const opens = () => page.getByRole('button', { name: 'Send a message', exact: true }).first().click();
    await opens();
    await dialog.getByLabel('To').fill('eve@example.com, "Hopper, Grace" <grace@example.com>');
    await dialog.getByLabel('Subject').fill('Your tickets');
    await dialog.getByRole('button', { name: 'Add a copy (Cc)' }).click();
    await dialog.getByLabel('Copy (Cc)', { exact: true }).fill('nobody');
    await addFiles(page, dialog);
    await checkAccessibility(page);
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await dialog.getByRole('alert').filter({ hasText: 'nobody' }).waitFor();
    await dialog.getByLabel('Copy (Cc)', { exact: true }).fill('away@example.com');

    // The browser keeps what is not sent, with the file that is uploaded.
    await stage().open(page, '/messages');
    await opens();
    await dialog.getByText('ticket.pdf').waitFor();
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Copy (Cc) has away@example.com, which is suppressed').waitFor();
    await page.getByRole('button', { name: 'Open the message' }).click();

    await heading(page, 'Your tickets');
    const rows = page.getByRole('list', { name: 'Recipients' }).getByRole('listitem');
    await rows.filter({ hasText: 'eve@example.com' }).getByText('delivered').waitFor();
    await rows.filter({ hasText: 'Copy (Cc)' }).getByText('failed').waitFor();
    await checkAccessibility(page);
    await rows.getByRole('link', { name: 'grace@example.com' }).click();
    await page.getByText('to "Hopper, Grace" <grace@example.com>').first().waitFor();
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download ticket.pdf' }).click();
    const file = await saved;
    expect(file.suggestedFilename()).toBe('ticket.pdf');
    await expect(readFile(await file.path())).resolves.toEqual(pdf);

    await page.getByRole('button', { name: 'Resend' }).click();
    await page.getByText('The other recipients get nothing.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Resend' }).click();
    await page.getByText('The message is accepted for sending again.').waitFor();
    await page.getByRole('button', { name: 'Download ticket.pdf' }).waitFor();
    await expect(page.getByRole('list', { name: 'Recipients' }).count()).resolves.toBe(0);
  });
});

describe('a message with a time', () => {
  const DAY_MS = 86_400_000;
  const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();

  it('waits, is moved to another time, and is taken back', async () => {
    const page = await open('/messages');
    await page.getByRole('button', { name: 'Send a message', exact: true }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('To').fill('patient@example.com');
    await dialog.getByLabel('Subject').fill('Your appointment');
    await dialog.getByLabel('Send at').fill(localText(inDays(-1)));
    await dialog.getByRole('button', { name: 'Schedule' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'is in the past' }).waitFor();
    await dialog.getByLabel('Send at').fill(localText(inDays(2)));
    await checkAccessibility(page);
    await dialog.getByRole('button', { name: 'Schedule' }).click();
    await heading(page, 'Your appointment');
    await page.getByText('Until that time, you can change the time or cancel it.').waitFor();
    await checkAccessibility(page);

    await page.getByRole('button', { name: 'Change the time' }).click();
    const typed = localText(inDays(1));
    await dialog.getByLabel('Time', { exact: true }).fill(typed);
    await dialog.getByRole('button', { name: 'Change the time' }).click();
    await page.getByText('The time is changed.').waitFor();
    const id = Number(new URL(page.url()).pathname.split('/').at(-1));
    const { body } = await stage().request('GET', `/v1/my/messages/${id}`);
    expect(localText(String(body.scheduled_at))).toBe(typed);

    await stage().open(page, '');
    await page.getByText('1 scheduled, next').waitFor();
    await page.getByRole('link', { name: '1 scheduled' }).click();
    await page.getByRole('cell', { name: /^Leaves / }).waitFor();
    await page.getByRole('link', { name: 'patient@example.com' }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await dialog.getByRole('button', { name: 'Cancel it' }).click();
    await page.getByText('It was canceled').waitFor();
    await expect(page.getByRole('button', { name: 'Change the time' }).count()).resolves.toBe(0);
  });

  it('is taken back from one recipient of several, and sent to the others now', async () => {
    const to = ['one@example.com', 'two@example.com'];
    const id = await send({ to, subject: 'Minutes', scheduled_at: inDays(3) });
    const page = await open(`/messages/${id}`);
    await page.getByRole('button', { name: 'Cancel' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Who gets nothing').selectOption('Only one@example.com');
    await dialog.getByRole('button', { name: 'Cancel it' }).click();
    const rows = page.getByRole('list', { name: 'Recipients' }).getByRole('listitem');
    await rows.filter({ hasText: 'one@example.com' }).getByText('canceled').waitFor();
    await rows.filter({ hasText: 'two@example.com' }).getByText('scheduled').waitFor();
    await rows.getByRole('link', { name: 'two@example.com' }).click();
    await page.getByRole('button', { name: 'Change the time' }).click();
    await dialog.getByLabel('When').selectOption('Now');
    await dialog.getByRole('button', { name: 'Send now' }).click();
    await rows.filter({ hasText: 'two@example.com' }).getByText('delivered').waitFor();
    await expect(page.getByRole('button', { name: 'Cancel' }).count()).resolves.toBe(0);
  });
});

describe('the list of messages', () => {
  it('keeps its filters in the URL', async () => {
    await send({ to: 'filter@example.com', subject: 'Receipt 4711' });
    const page = await open('/messages');
    await page.getByLabel('Subject contains').fill('receipt 4711');
    await page.getByLabel('Subject contains').press('Enter');
    await page.waitForURL(/subject=receipt/);
    const rows = page.getByRole('table', { name: 'Messages' }).getByRole('row');
    await eventually(async () => expect(await rows.count()).toBe(2));
    await page.reload();
    await page.getByRole('link', { name: 'filter@example.com' }).waitFor();
    await expect(page.getByLabel('Subject contains').inputValue()).resolves.toBe('receipt 4711');
    await checkAccessibility(page);
  });
});

describe('a search in a long list', () => {
  it('finds what is older part by part', async () => {
    await stage().database.pool.query(
      `insert into messages (account_id, brand_id, channel, status, to_address, to_key, subject)
       select $1, $2, 'email', 'sent', 'many@example.com', 'many@example.com',
         case when n = 1 then 'The needle' else 'Hay' end
       from generate_series(1, $3) n`,
      [stage().accountId, stage().brandId, MORE_THAN_A_PART],
    );
    const page = await open('/messages?subject=needle');
    await page.getByText('None of the messages in this part of the list match.').waitFor();
    await page.getByText('0 found in this part. There may be older ones.').waitFor();
    await page.getByRole('button', { name: 'Search older' }).click();
    await page.waitForURL(/[?&]after=/);
    await page.getByRole('cell', { name: 'The needle' }).waitFor();
    await page.getByText('which is the last').waitFor();
    await page.getByRole('button', { name: 'Back to the newest' }).click();
    await page.getByText('0 found in this part.').waitFor();
  });
});

// Last, because no message of the account leaves afterwards.
describe('a paused account', () => {
  it('says on the overview and at the message why it waits', async () => {
    const database = openDatabase({ url: stage().service.databaseUrl, poolMax: 1, applicationName: 'pause' });
    await inTransaction(database.pool, (trx) =>
      pauseAccount(trx, testEvents, stage().accountId, 'bounce_rate'),
    );
    await database.close();
    const id = await send({ to: 'waits@example.com' });
    await waitForStatus(id, 'held');
    const page = await open('');
    await page.getByText('No message leaves').waitFor();
    await page.getByText('Too many messages bounced.').waitFor();
    await page
      .getByRole('table', { name: 'Recent problems' })
      .getByRole('link', { name: 'waits@example.com' })
      .click();
    await page.getByText('Sending is paused for the account', { exact: true }).waitFor();
    await page.getByText('Held: Sending is paused for the account.').waitFor();
    await page.getByText('Ask the operator of the service to resume sending.').waitFor();
  });
});
