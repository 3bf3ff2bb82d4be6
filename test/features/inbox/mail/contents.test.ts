// What strangers write is stored whole, or cut at a character, and shown without invisible characters.
import { createHash, randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseEmailAddress } from '../../../../src/delivery/terms/addresses/email.ts';
import type { ReadMail } from '../../../../src/features/inbox/mail/mail.ts';
import { startMailReader, type TestMailReader } from '../../../support/mail-reader.ts';

let reader: TestMailReader;
beforeAll(async () => {
  reader = await startMailReader();
});
afterAll(() => reader.close());

async function contentOf(mail: ReadMail, index = 0): Promise<Buffer> {
  const blob = await reader.store.open(mail.attachments[index]?.storageKey ?? '');
  if (!blob) throw new Error('the attachment is not stored');
  return buffer(blob.stream);
}

function base64Lines(bytes: Buffer): string {
  return bytes.toString('base64').replace(/.{76}/g, '$&\n');
}

function mixed(...parts: string[]): string {
  const body = parts.map((part) => `--b\n${part}\n`).join('');
  return `From: ada@example.com\nContent-Type: multipart/mixed; boundary=b\n\n${body}--b--\n`;
}

function attached(name: string, bytes: Buffer, type = 'application/octet-stream'): string {
  return `Content-Type: ${type}; name="${name}"\nContent-Disposition: attachment\nContent-Transfer-Encoding: base64\n\n${base64Lines(bytes)}`;
}

it('shows few of many authors, because events have them', async () => {
  const authors = Array.from({ length: 100 }, (_each, n) => `a${n}@example.com`);
  const { from } = await reader.read(`From: ${authors.join(',\n ')}\n\nHello\n`);
  expect(from).toBe(authors.slice(0, 10).join(', '));
});

it('quotes a name that looks like an address, so that it is not taken for the sender', async () => {
  const shown: string[] = [];
  for (const from of [
    '=?utf-8?Q?ceo=40bank.example=2C?= <eve@mallory.example>',
    '"Bank <ceo@bank.example>" <eve@mallory.example>',
    '"A \\"b\\" \\\\" <eve@mallory.example>',
    'Dr. Ada <eve@mallory.example>',
  ])
    shown.push((await reader.read(`From: ${from}\n\nHello\n`)).from);
  expect(shown).toEqual([
    '"ceo@bank.example," <eve@mallory.example>',
    '"Bank <ceo@bank.example>" <eve@mallory.example>',
    '"A \\"b\\" \\\\" <eve@mallory.example>',
    'Dr. Ada <eve@mallory.example>',
  ]);
  expect(shown.map((text) => parseEmailAddress(text))).toEqual(
    shown.map(() => expect.objectContaining({ key: 'eve@mallory.example' })),
  );
});

describe('large mails', () => {
  const large = randomBytes(2_000_000);

  it('store each attachment byte for byte', async () => {
    const small = Buffer.from('small');
    const text = 'Content-Type: text/plain; charset=utf-8\n\nHéllo';
    const mail = await reader.read(mixed(text, attached('a.bin', large), attached('b.bin', small)));
    expect(mail).toMatchObject({ text: 'Héllo\n', truncated: false, suspicion: null });
    expect(mail.attachments.map(({ filename, size }) => [filename, size])).toEqual([
      ['a.bin', large.length],
      ['b.bin', small.length],
    ]);
    const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
    expect(hash(await contentOf(mail, 0))).toBe(hash(large));
    expect(await contentOf(mail, 1)).toEqual(small);
  });

  it('decode quoted-printable attachments', async () => {
    const line = 'caf=C3=A9 =3D 1 and a soft=\n break\n';
    const part = `Content-Type: text/csv; name=a.csv\nContent-Transfer-Encoding: quoted-printable\n\n${line.repeat(12_000)}`;
    const mail = await reader.read(mixed(part));
    const content = (await contentOf(mail)).toString();
    expect(content.startsWith('café = 1 and a soft break\r\ncafé = 1 and')).toBe(true);
    expect(content.length).toBe('café = 1 and a soft break\r\n'.length * 12_000);
  });

  it('have long texts cut at a character', async () => {
    const raw = `From: ada@example.com\nContent-Type: text/plain; charset=utf-8\n\n${`${'€'.repeat(25)}\n`.repeat(100_000)}`;
    const { text, truncated, suspicion } = await reader.read(raw);
    expect(suspicion).toBeNull();
    expect(truncated).toBe(true);
    const bytes = Buffer.byteLength(text ?? '');
    expect(bytes).toBeGreaterThan(512 * 1024 - 3);
    expect(bytes).toBeLessThanOrEqual(512 * 1024);
    expect(text).not.toContain('\ufffd');
  });
});

describe('texts', () => {
  it('become storable: no NUL, no control characters, no half surrogate pairs', async () => {
    const { text } = await reader.read(
      'From: ada@example.com\nContent-Type: text/plain; charset=utf-16le\nContent-Transfer-Encoding: base64\n\n' +
        Buffer.from('a\0b\x07c\ud800d\te\r\nf', 'utf16le').toString('base64'),
    );
    expect(text).toBe('abc\ufffdd\te\nf');
  });

  it('show invisible characters of names, subjects and file names', async () => {
    const encoded = (text: string) => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`;
    const mail = await reader.read(
      `From: ${encoded('Ada\u202e\u0000\u2028Bob')} <ada@example.com>\nSubject: ${encoded('Pay\u200b now\r\nBcc: x\u2067')}\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: application/pdf; name="${encoded('invoice\u202efdp.exe')}"\nContent-Disposition: attachment\n\nHi\n--b--\n`,
    );
    expect(mail.from).toBe('Ada\ufffd\ufffd\ufffdBob <ada@example.com>');
    expect(mail.subject).toBe('Pay\ufffd now Bcc: x\ufffd');
    expect(mail.attachments[0]?.filename).toBe('invoice\ufffdfdp.exe');
  });

  it('survive an unknown character set', async () => {
    const { text, suspicion } = await reader.read(
      'From: ada@example.com\nContent-Type: text/plain; charset=x-klingon\n\nHello\n',
    );
    expect(suspicion).toBeNull();
    expect(text).toContain('Hello');
  });
});

describe('attachments', () => {
  it.each([
    ['a zip file', 'application/zip', Buffer.from('504b0304140001000000', 'hex')],
    ['a PDF', 'application/pdf', Buffer.from('%PDF-1.4\ntrailer <</Encrypt 5 0 R>>')],
    [
      'an Office file',
      'application/msword',
      Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.from('EncryptedPackage', 'utf16le')]),
    ],
    ['a mail by S/MIME', 'application/pkcs7-mime', Buffer.from('xyz')],
    ['a mail by PGP', 'application/octet-stream', Buffer.from('-----BEGIN PGP MESSAGE-----\n\nhQ==\n')],
  ])('cannot be scanned in %s that is encrypted', async (_what, type, bytes) => {
    const mail = await reader.read(mixed(attached('a', bytes, type)));
    expect(mail.attachments).toMatchObject([{ unscannable: 'encrypted' }]);
  });

  it('have the type of their content, whatever the mail says', async () => {
    const mail = await reader.read(
      mixed(attached('a.png', Buffer.from('<script>alert(1)</script>'), 'image/png')),
    );
    expect(mail.attachments).toMatchObject([{ contentType: 'text/plain', unscannable: null }]);
  });
});

describe('automatic mail', () => {
  it.each([
    'Auto-Submitted: auto-replied',
    'Auto-Submitted: auto-generated; owner-email="x@example.com"',
    'X-Auto-Response-Suppress: DR, OOF, AutoReply',
    'Precedence: bulk',
    'Precedence: auto_reply',
    'X-Autoreply: yes',
    'X-Autorespond: Out of office',
    'List-Id: <news.example.com>',
    'List-Unsubscribe: <https://example.com/u>',
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
    'From: No-Reply <no-reply@example.com>',
  ])('is recognized by %s', async (field) => {
    expect((await reader.read(`${field}\nFrom: ada@example.com\n\nHello\n`)).autoSubmitted).toBe(true);
  });

  it('is recognized by the null return path', async () => {
    expect((await reader.read('From: ada@example.com\n\nHi\n', { envelopeFrom: '' })).autoSubmitted).toBe(
      true,
    );
  });

  it.each([
    'Auto-Submitted: no',
    'X-Auto-Response-Suppress: DR, RN',
    'Precedence: first-class',
    'X-Mailer: bulk',
  ])('is not meant by %s', async (field) => {
    expect((await reader.read(`${field}\nFrom: ada@example.com\n\nHello\n`)).autoSubmitted).toBe(false);
  });
});

describe('the digest', () => {
  const fields = {
    'Message-ID': '<1@x>',
    From: 'ada@example.com',
    Sender: 'office@example.com',
    'Reply-To': 'ada@home.example',
    To: 'support@acme.test',
    Cc: 'bob@example.com',
    Date: 'Fri, 27 Nov 2026 10:00:00 +0000',
    Subject: 'Alarm 1',
    'In-Reply-To': '<0@x>',
    References: '<0@x>',
    'Auto-Submitted': 'no',
    Precedence: 'first-class',
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Language': 'en',
  };
  const digestOf = async (changes: Record<string, string | null>, body = 'Hi') => {
    const lines = Object.entries<string | null>({ ...fields, ...changes }).flatMap(([name, value]) =>
      value === null ? [] : [`${name}: ${value}\n`],
    );
    const text = `${lines.join('')}\n${body}\n`.replace(/\r?\n/g, '\r\n');
    return (await reader.read(Buffer.from(text, 'latin1'))).digest;
  };

  it('is the same for two copies of a mail that took different ways', async () => {
    const first = await digestOf({ Received: 'from a' });
    const copy = await digestOf({
      'Message-ID': null,
      Received: 'from b',
      'X-Spam': 'no',
      Subject: ' Alarm\n 1',
      'message-id': '<1@x>',
    });
    expect(first).toHaveLength(32);
    expect(copy).toEqual(first);
  });

  it.each([...Object.keys(fields), 'Content-Class'])('differs for another %s', async (name) => {
    expect(await digestOf({ [name]: '<2@x>' })).not.toEqual(await digestOf({}));
  });

  it('differs for another body', async () => {
    expect(await digestOf({}, 'Ho')).not.toEqual(await digestOf({}));
  });

  it.each([
    ['bytes that are not UTF-8', { Subject: 'Alarm \xc4' }, { Subject: 'Alarm \xd6' }],
    ['a mark of automatic mail', {}, { 'X-Autoreply': 'yes' }],
    ['what the parser takes for the body', { 'X-Spam': 'no' }, { 'X-Spam': 'no\n\r\r\nOther text' }],
  ])('differs for %s', async (_what, one: Record<string, string>, other: Record<string, string>) => {
    expect(await digestOf(one)).not.toEqual(await digestOf(other));
  });

  it.each([
    ['Received', { Date: null, Received: 'from a' }],
    ['Date', {}],
  ])('is that of the bytes without a Message-ID, if there is a field %s', async (_name, changes) => {
    const without = { ...changes, 'Message-ID': null };
    expect(await digestOf(without)).toHaveLength(32);
    expect(await digestOf(without)).toEqual(await digestOf(without));
    expect(await digestOf({ ...without, 'X-Spam': 'no' })).not.toEqual(await digestOf(without));
  });

  it.each([null, '<>'])('does not exist without a Message-ID, Received and Date (%s)', async (id) => {
    expect(await digestOf({ 'Message-ID': id, Date: null })).toBeNull();
  });
});
