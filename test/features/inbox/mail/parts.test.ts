// Whatever the size of a mail, its parts are the same: the words are shown, and each file keeps its bytes.
import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ReadMail } from '../../../../src/features/inbox/mail/mail.ts';
import { fileOf, mailKinds } from '../../../support/mail-kinds.ts';
import { startMailReader, type TestMailReader } from '../../../support/mail-reader.ts';

let reader: TestMailReader;
beforeAll(async () => {
  reader = await startMailReader();
});
afterAll(() => reader.close());

const SIZES = [20, 300];
const files = SIZES.map((size) => fileOf(size * 1_000));

async function contentsOf(mail: ReadMail): Promise<Buffer[]> {
  return Promise.all(
    mail.attachments.map(async ({ storageKey }) => {
      const blob = await reader.store.open(storageKey);
      if (!blob) throw new Error('the attachment is not stored');
      return buffer(blob.stream);
    }),
  );
}

const shaOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

it.each(mailKinds)('finds the words and the file of a mail at every size: $name', async ({ raw }) => {
  for (const file of files) {
    const mail = await reader.read(raw(file.part));
    expect(mail).toMatchObject({
      suspicion: null,
      text: expect.stringContaining('words'),
      attachments: [{ filename: 'a.bin', size: file.content.length }],
    });
    expect((await contentsOf(mail)).map(shaOf)).toEqual([file.sha]);
    expect(mail.text).not.toMatch(/MIME|The end|Content-/);
  }
});

const [, large] = files;
const FROM = 'From: Ada <ada@example.com>\r\nMIME-Version: 1.0\r\n';
const inner = `From: Bob <bob@example.org>\r\nSubject: inner\r\nContent-Type: multipart/mixed; boundary=i\r\n\r\n--i\r\nContent-Type: text/plain\r\n\r\ninner words\r\n--i\r\nContent-Type: image/gif; name=l.gif\r\nContent-Transfer-Encoding: base64\r\n\r\nR0lGODlh\r\n--i--\r\n`;

/** A mail with another one, and with a large file. */
function forwarding(head: string, body: string): string {
  return `${FROM}Content-Type: multipart/mixed; boundary=o\r\n\r\n--o\r\nContent-Type: text/plain\r\n\r\nouter words\r\n--o\r\n${head}\r\n${body}\r\n--o\r\n${large?.part}--o--\r\n`;
}

describe('a mail within a mail', () => {
  it.each([
    ['attached', 'Content-Type: message/rfc822; name=f.eml\r\nContent-Disposition: attachment; filename=f.eml\r\n', inner],
    ['inline', 'Content-Type: message/rfc822; name=f.eml\r\nContent-Disposition: inline\r\n', inner],
    ['without a disposition', 'Content-Type: message/rfc822; name=f.eml\r\n', inner],
    ['in UTF-8', 'Content-Type: message/global; name=f.eml\r\n', inner],
    ['in base64', 'Content-Type: message/rfc822; name=f.eml\r\nContent-Transfer-Encoding: base64\r\n', Buffer.from(inner).toString('base64').replace(/.{76}/g, '$&\r\n')],
    ['in quoted-printable', 'Content-Type: message/rfc822; name=f.eml\r\nContent-Transfer-Encoding: quoted-printable\r\n', inner.replaceAll('=', '=3D')],
  ])('is a file, byte for byte: %s', async (_how, head, body) => {
    const mail = await reader.read(forwarding(head, body));
    expect(mail).toMatchObject({
      suspicion: null,
      text: 'outer words\n',
      attachments: [{ filename: 'f.eml' }, { filename: 'a.bin' }],
    });
    expect((await contentsOf(mail))[0]?.toString()).toBe(inner);
  }); // prettier-ignore

  it('is a file in a digest, whose parts are mails if they have no type', async () => {
    const mail = await reader.read(
      `${FROM}Content-Type: multipart/digest; boundary=d\r\n\r\n--d\r\n\r\n${inner}\r\n--d\r\n\r\n${inner}\r\n--d--\r\n`,
    );
    expect(mail.attachments.map(({ filename }) => filename)).toEqual(['attachment.eml', 'attachment.eml']);
    expect((await contentsOf(mail)).map(String)).toEqual([inner, inner]);
  });

  it('is a file on every level', async () => {
    const wrap = (raw: string) => `${FROM}Content-Type: message/rfc822\r\n\r\n${raw}`;
    const mail = await reader.read(wrap(wrap(wrap(wrap(wrap(inner))))));
    expect(mail).toMatchObject({ suspicion: null, text: null });
    expect((await contentsOf(mail)).map(String)).toEqual([wrap(wrap(wrap(wrap(inner))))]);
  });

  it('keeps the report of a bounce, with the mail that bounced', async () => {
    const mail = await reader.read(
      `${FROM}Content-Type: multipart/report; report-type=delivery-status; boundary=r\r\n\r\n--r\r\n\r\nNot delivered.\r\n--r\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example\r\n--r\r\nContent-Type: message/rfc822\r\n\r\n${inner}--r--\r\n`,
    );
    expect(mail.text).toBe('Not delivered.\n');
    expect(mail.attachments.map(({ filename }) => filename)).toEqual(['attachment', 'attachment.eml']);
  });
});

describe('files', () => {
  const part = (head: string, body: string) =>
    `${FROM}Content-Type: multipart/mixed; boundary=o\r\n\r\n--o\r\n\r\nouter words\r\n--o\r\n${head}\r\n\r\n${body}\r\n--o--\r\n`;

  it.each([
    ['7bit', 'Content-Type: text/csv; name=a.csv', 'a,b\r\n1,2\r\n', 'a,b\r\n1,2\r\n'],
    ['uuencode', 'Content-Type: application/x-a; name=a\r\nContent-Transfer-Encoding: x-uuencode', 'begin 644 a\r\n#0V%T\r\n`\r\nend', 'Cat'],
    ['base64 with padding in each line', 'Content-Type: application/x-a; name=a\r\nContent-Transfer-Encoding: base64', 'YQ==\r\nYg==\r\n', 'ab'],
    ['base64 in quotes', 'Content-Type: application/x-a; name=a\r\nContent-Transfer-Encoding: "BASE64" (8bit)', 'YWI=', 'ab'],
    ['quoted printable without a hyphen', 'Content-Type: application/x-a; name=a\r\nContent-Transfer-Encoding: quoted printable', 'a=3Db=\r\nc', 'a=bc'],
  ])('are decoded and otherwise kept: %s', async (_encoding, head, body, expected) => {
    const mail = await reader.read(part(head, body));
    expect((await contentsOf(mail)).map(String)).toEqual([expected]);
  }); // prettier-ignore

  it.each([
    ['filename=report.pdf', 'report.pdf'],
    ['filename="my report.pdf"', 'my report.pdf'],
    ['filename=my report.pdf; size=3', 'my report.pdf'],
    ['filename=Invoice(1).pdf', 'Invoice(1).pdf'],
    ['filename="a;b.pdf"', 'a;b.pdf'],
    ['filename="C:\\Users\\ada\\report.pdf"', 'report.pdf'],
    ["filename*=UTF-8''%C3%BCber.pdf", 'über.pdf'],
    ["filename*=iso-8859-1'de'%FCber.pdf; filename=uber.pdf", 'über.pdf'],
    ["filename*0*=utf-8''%E2%82; filename*1*=%AC.pdf", '€.pdf'],
    ['filename*0="long "; filename*1="name.pdf"', 'long name.pdf'],
    ['filename="=?utf-8?B?w7xiZXI=?= =?utf-8?Q?.pdf?="', 'über.pdf'],
    ['filename="=?utf-8?B?4oI=?= =?utf-8?B?rC5wZGY=?="', '€.pdf'],
    ['filename="\u00fcber.pdf"', 'über.pdf'],
    ['', 'named.pdf'],
  ])('have the name that %s says', async (parameter, expected) => {
    const head = `Content-Type: application/x-a; name=named.pdf\r\nContent-Disposition: attachment; ${parameter}`;
    const mail = await reader.read(part(head, 'abc'));
    expect(mail.attachments.map(({ filename }) => filename)).toEqual([expected]);
  });

  it('have a name in the character set of older programs', async () => {
    const head = 'Content-Type: application/x-a; name="\u00fcber.pdf"';
    const mail = await reader.read(Buffer.from(part(head, 'abc'), 'latin1'));
    expect(mail.attachments.map(({ filename }) => filename)).toEqual(['über.pdf']);
  });
});
