// A mail is read as its sender meant it, and stored so that no text of a stranger hurts.
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ReadMail } from '../../../../src/features/inbox/mail/mail.ts';
import { answeredId, clientMail, mailClients } from '../../../support/client-mail.ts';
import { startMailReader, type TestMailReader } from '../../../support/mail-reader.ts';

let reader: TestMailReader;

beforeAll(async () => {
  reader = await startMailReader();
});
afterAll(() => reader.close());

async function contentOf(mail: ReadMail, index: number): Promise<Buffer> {
  const blob = await reader.store.open(mail.attachments[index]?.storageKey ?? '');
  if (!blob) throw new Error('the attachment is not stored');
  return buffer(blob.stream);
}

describe('mails of real programs', () => {
  it.each(mailClients)('reads the header of an answer from %s', async (client) => {
    const mail = await reader.read(clientMail(client, { references: ['older@example.org', answeredId] }));
    expect(mail).toMatchObject({
      from: 'Ada Lovelace <ada@example.com>',
      senderKey: 'ada@example.com',
      to: ['Example Shop <support@inbox.example.org>'],
      cc: [],
      replyTo: null,
      date: expect.any(Date),
      subject: 'Re: Your order 1042',
      referenceIds: [answeredId, 'older@example.org'],
      autoSubmitted: false,
      truncated: false,
      suspicion: null,
    });
    expect(mail.internetId).toMatch(/^[^<>\s]+@[^<>\s]+$/);
    expect(mail.digest).toHaveLength(32);
  });

  it('reads both texts of Gmail', async () => {
    const mail = await reader.read(clientMail('gmail'));
    expect(mail.text).toContain('Merci beaucoup, ça marche\u00a0! 👍\n\nOn Tue');
    expect(mail.html).toContain('<div dir="ltr">Merci beaucoup, ça marche');
    expect(mail.attachments).toEqual([]);
  });

  it('decodes the character set of Outlook, and keeps the image in the text', async () => {
    const mail = await reader.read(clientMail('outlook'));
    expect(mail.text).toContain('Grüße aus München, die Rechnung über 12 € fehlt noch.');
    expect(mail.html).toContain('cid:logo-7f3e@example');
    expect(mail.attachments).toEqual([
      {
        filename: 'Outlook-Logo.png',
        contentType: 'image/png',
        size: 70,
        contentId: 'logo-7f3e@example',
        inline: true,
        storageKey: expect.stringMatching(/^inbox\/1\//),
        unscannable: null,
      },
    ]);
    expect((await contentOf(mail, 0)).subarray(0, 4).toString('latin1')).toBe('\x89PNG');
  });

  it('reads the attachment of Apple Mail, inside the alternative', async () => {
    const mail = await reader.read(clientMail('apple-mail'));
    expect(mail.text).toContain('Here’s what arrived.');
    expect(mail.attachments).toMatchObject([
      { filename: 'Bild über Paket.pdf', contentType: 'application/pdf', inline: true, contentId: null },
    ]);
    expect((await contentOf(mail, 0)).subarray(0, 5).toString()).toBe('%PDF-');
  });

  it('joins the flowed lines of Thunderbird', async () => {
    const mail = await reader.read(clientMail('thunderbird'));
    expect(mail.text).toContain('seventy-two characters, so it goes on here. Zażółć gęślą jaźń.\n');
    expect(mail.html).toBeNull();
  });
});
