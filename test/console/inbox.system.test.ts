// Mail in a real browser: a conversation is read and answered, an unscanned file needs a yes, quarantine lets mail arrive.
import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { checkAccessibility, useConsole } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { deliver } from '../support/inbound.ts';
import { allowInboxes } from '../support/inboxes.ts';

const HOSTILE = '<script>document.title = "ran"</script>';
/** The text that each spam filter must recognize. */
const GTUBE = 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X';

const stage = useConsole();
let address: string;

function mailOf(name: string, subject: string, parts: string): string {
  const head = [
    `From: "${HOSTILE.replaceAll('"', String.raw`\"`)}" <${name}@example.com>`,
    `To: ${address}`,
    `Subject: ${subject}`,
    `Message-ID: <${name}@example.com>`,
    'MIME-Version: 1.0',
  ];
  return `${head.join('\r\n')}\r\n${parts.replaceAll('\n', '\r\n')}\r\n`;
}

async function arrive(name: string, subject: string, parts: string): Promise<void> {
  const data = mailOf(name, subject, parts);
  const { mailPort } = stage().service;
  await expect(deliver(mailPort, { from: `${name}@example.com`, to: address, data })).resolves.toMatch(
    /^250/,
  );
}

beforeAll(async () => {
  await allowInboxes(stage().database, stage().accountId);
  const { body } = await stage().request('POST', '/v1/my/inboxes', { body: { name: 'Support' } });
  address = String(body.address);
});

describe('the inbox', () => {
  it('shows mail as text, is marked as read, and sends an answer', async () => {
    const html = `<p>Dear team</p><p>See <a href="https://example.com/a">this</a></p>${HOSTILE}`;
    // The second delivery of the same mail is only counted.
    for (let n = 0; n < 2; n += 1)
      await arrive('ada', `A question ${HOSTILE}`, `Content-Type: text/html\n\n${html}`);
    await eventually(async () => {
      const sql = 'select from conversation_messages where account_id = $1 and repeated_count = 1';
      const { rowCount } = await stage().database.pool.query(sql, [stage().accountId]);
      expect(rowCount).toBe(1);
    });
    const page = await stage().signIn({ at: '/inbox' });
    const link = page.getByRole('link', { name: `A question ${HOSTILE}` });
    await link.waitFor();
    await page.getByText('1 unread').waitFor();
    await checkAccessibility(page);
    await link.click();
    await page.getByText('See this (https://example.com/a)').waitFor();
    await page.getByText('This mail was received again once').waitFor();
    await expect(page.title()).resolves.not.toBe('ran');
    await checkAccessibility(page);

    await page.getByLabel('Your reply').fill('It is on its way.');
    await page
      .getByLabel('Add files')
      .setInputFiles({ name: 'label.txt', mimeType: 'text/plain', buffer: Buffer.from('the label') });
    await page.getByRole('button', { name: 'Remove label.txt' }).waitFor();
    await page.getByRole('progressbar').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Send the reply' }).click();
    await page.getByText('The reply is accepted for sending.').waitFor();
    await page.getByText('It is on its way.').waitFor();
    await page.getByRole('link', { name: 'delivered' }).waitFor();
    await expect(page.getByRole('button', { name: 'Remove label.txt' }).count()).resolves.toBe(0);
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download label.txt' }).click();
    await expect(readFile(await (await saved).path(), 'utf8')).resolves.toBe('the label');
    const { body } = await stage().request<{ unread_count: number }[]>('GET', '/v1/my/conversations');
    expect(body.map((each) => each.unread_count)).toStrictEqual([0]);
  });

  it('assigns and closes a conversation, and undoes it', async () => {
    const { body } = await stage().request<{ id: number }[]>('GET', '/v1/my/conversations');
    const path = `/inbox/${body[0]?.id}`;
    const page = await stage().signIn({ at: path, theme: 'dark', width: 360 });
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    await page.getByRole('button', { name: 'Open again' }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('button', { name: 'Close', exact: true }).waitFor();
    await checkAccessibility(page);
    await page.getByLabel('Assigned to').selectOption({ index: 1 });
    await page.getByText('The conversation is assigned.').waitFor();
    const { body: changed } = await stage().request('GET', `/v1/my/conversations/${body[0]?.id}`);
    expect(changed).toMatchObject({ status: 'open', assignee_id: expect.any(Number) });
  });

  it('saves a file that was not scanned, and the mail that has it, only after a yes', async () => {
    const parts = [
      'Reply-To: desk@example.com',
      'Date: Tue, 10 Mar 2026 10:40:10 +0100',
      'Content-Type: multipart/mixed; boundary=B\n',
      '--B\nContent-Type: text/plain\n\nSee the file.',
      '--B\nContent-Type: text/plain\nContent-Disposition: attachment; filename="note.txt"\n\nthe note\n--B--',
    ];
    await arrive('bob', 'With a file', parts.join('\n'));
    const page = await stage().signIn({ at: '/inbox' });
    await page.getByRole('link', { name: 'With a file' }).click();
    await page.getByRole('button', { name: 'Download note.txt' }).click();
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download it unscanned' }).click();
    const file = await saved;
    expect(file.suggestedFilename()).toBe('note.txt');
    await expect(readFile(await file.path(), 'utf8')).resolves.toMatch(/^the note/);

    await page.getByText('replies to desk@example.com, written').waitFor();
    await page.getByRole('button', { name: 'Download the original' }).click();
    const original = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download it unscanned' }).click();
    const mail = await original;
    expect(mail.suggestedFilename()).toMatch(/^message-\d+\.eml$/);
    await expect(readFile(await mail.path(), 'utf8')).resolves.toContain('Reply-To: desk@example.com');
  });

  it('deletes a message, and a conversation, after a yes', async () => {
    await arrive('dan', 'To be deleted', 'Content-Type: text/plain\n\nFirst');
    const page = await stage().signIn({ at: '/inbox' });
    await page.getByRole('link', { name: 'To be deleted' }).click();
    await page.getByLabel('Your reply').fill('An answer.');
    await page.getByRole('button', { name: 'Send the reply' }).click();
    await page.getByText('The reply is accepted for sending.').waitFor();
    await page.getByRole('link', { name: 'delivered' }).waitFor();
    await page.getByRole('button', { name: 'Delete message' }).first().click();
    await page.getByText('It is still sent.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete message' }).click();
    await page.getByText('The message is deleted.').waitFor();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await checkAccessibility(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Delete conversation' }).click();
    await page.getByText('The conversation is deleted.').waitFor();
    await page.getByRole('link', { name: 'With a file' }).waitFor();
    // The list that was read before is shown until the new one is there.
    await page.getByRole('link', { name: 'To be deleted' }).waitFor({ state: 'detached' });
    await stage().open(page, '/inbox/inboxes');
    await page.getByText('used by the mail of all brands of the account').waitFor();
    await checkAccessibility(page);
  });

  it('lets mail in quarantine arrive once it is released', async () => {
    await arrive('eve', 'Only a test', `Content-Type: text/plain\n\n${GTUBE}`);
    const page = await stage().signIn({ at: '/inbox/quarantine' });
    await page.getByRole('button', { name: 'Only a test' }).click();
    await page.getByText(GTUBE).waitFor();
    await checkAccessibility(page);
    await page.getByRole('button', { name: 'Release' }).click();
    await page.getByRole('heading', { name: 'Nothing is in quarantine' }).waitFor();
    await stage().open(page, '/inbox');
    await page.getByRole('link', { name: 'Only a test' }).waitFor();
  });

  it('keeps mail of a blocked sender', async () => {
    const page = await stage().signIn({ at: '/inbox/blocks' });
    await page.getByLabel('Address or domain').fill('example.com');
    await page.getByRole('button', { name: 'Block', exact: true }).click();
    await page.getByRole('cell', { name: 'example.com', exact: true }).waitFor();
    await arrive('mallory', 'Again', 'Content-Type: text/plain\n\nHello');
    await stage().open(page, '/inbox/quarantine?reason=blocked');
    await page.getByRole('button', { name: 'Again' }).waitFor();
  });
});
