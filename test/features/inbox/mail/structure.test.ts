// Mail that would keep a parser busy is refused with a reason, and its header is read nevertheless.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ReadMail } from '../../../../src/features/inbox/mail/mail.ts';
import { scanStructure } from '../../../../src/delivery/content/read/structure.ts';
import { startMailReader, type TestMailReader } from '../../../support/mail-reader.ts';

const HEAD = 'From: ada@example.com\r\nSubject: Hello\r\n';

function problemOf(raw: string): string | null {
  return scanStructure(Buffer.from(raw, 'latin1')).problem;
}

/** Parts inside each other. */
function nested(levels: number): string {
  const parts = Array.from({ length: levels }, (_, level) => {
    const type = `Content-Type: multipart/mixed; boundary="b${level}"\r\n\r\n`;
    return `${type}--b${level}\r\n`;
  });
  return `${HEAD}${parts.join('')}\r\nHello\r\n`;
}

function withParts(count: number): string {
  return `${HEAD}Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\nHi\r\n'.repeat(count)}--b--\r\n`;
}

describe('scanStructure', () => {
  it('refuses parts that are nested too deeply', () => {
    expect(problemOf(nested(100))).toBeNull();
    expect(problemOf(nested(200))).toBe('parts are nested more than 100 levels deep');
  });

  it('does not look into attached mails, however deeply they are nested', () => {
    expect(problemOf(`${HEAD}${'Content-Type: message/rfc822\r\n\r\n'.repeat(200)}`)).toBeNull();
  });

  it('refuses too many parts', () => {
    expect(problemOf(withParts(999))).toBeNull();
    expect(problemOf(withParts(10_000))).toBe('the mail has more than 1,000 parts');
  });

  it('counts the ends of a body that has ended, since each begins another text', () => {
    expect(problemOf(`${withParts(1)}${'--b--\r\nx\r\n'.repeat(900)}`)).toBeNull();
    expect(problemOf(`${withParts(1)}${'--b--\r\nx\r\n'.repeat(1_000)}`)).toBe(
      'the mail has more than 1,000 parts',
    );
  });

  it('refuses headers that are too long, in the mail and in a part', () => {
    const long = `X-Long: ${'x'.repeat(900)}\r\n`.repeat(300);
    expect(problemOf(`${long}\r\nHello`)).toBe('a header has more than 256 KB');
    expect(problemOf(`${HEAD}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n${long}\r\nHello`)).toBe(
      'a header has more than 256 KB',
    );
    expect(problemOf(`${'A: b\r\n'.repeat(1_001)}\r\nHello`)).toBe('a header has more than 1,000 fields');
    expect(problemOf(`${HEAD}To: ${'g: '.repeat(60_000)}\r\n\r\n`)).toBe('a field has more than 32 KB');
    expect(problemOf(`${HEAD}X: ${'y\r\n '.repeat(100_000)}\r\n\r\n`)).toBe('a field has more than 32 KB');
  });

  it('refuses too many lines', () => {
    expect(problemOf(`${HEAD}\r\n${'\n'.repeat(1_000_001)}`)).toBe('the mail has more than 1,000,000 lines');
  });
});

describe('the reader', () => {
  let reader: TestMailReader;
  beforeAll(async () => {
    reader = await startMailReader();
  });
  afterAll(() => reader.close());

  function expectUnreadable(mail: ReadMail, detail: string): void {
    expect(mail).toMatchObject({
      senderKey: 'ada@example.com',
      subject: 'Hello',
      text: null,
      attachments: [],
      suspicion: { reason: 'unreadable', detail },
    });
  }

  it('reads the header of a mail that must not be parsed', async () => {
    expectUnreadable(await reader.read(nested(200)), 'parts are nested more than 100 levels deep');
    const fields = `${HEAD}${'A: b\r\n'.repeat(2_000)}\r\nHello`;
    expectUnreadable(await reader.read(fields), 'a header has more than 1,000 fields');
  });

  it('is quick with a list of addresses that takes a parser long', async () => {
    const list = `${HEAD}To: ${'g: '.repeat(60_000)};\r\n\r\nHello`;
    expectUnreadable(await reader.read(list), 'a field has more than 32 KB');
  });

  it('is quick with lines that begin like the delimiters of all parts around them', async () => {
    const parts = 'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n'.repeat(99);
    const { suspicion } = await reader.read(
      `${HEAD}${parts}\r\n${`--b${'--'.repeat(10)}b\n`.repeat(900_000)}`,
    );
    expect(suspicion).toBeNull();
  });

  it('refuses more attachments than it stores', async () => {
    const part = '--b\r\nContent-Disposition: attachment; filename=a.txt\r\n\r\nHi\r\n';
    const raw = `${HEAD}Content-Type: multipart/mixed; boundary=b\r\n\r\n${part.repeat(201)}--b--\r\n`;
    expectUnreadable(await reader.read(raw), 'the mail has more than 200 attachments');
  });
});
