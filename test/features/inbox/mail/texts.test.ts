// The words of a mail are shown, whatever it says about its type, boundary, encoding and character set.
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ReadMail } from '../../../../src/features/inbox/mail/mail.ts';
import { startMailReader, type TestMailReader } from '../../../support/mail-reader.ts';

let reader: TestMailReader;
beforeAll(async () => {
  reader = await startMailReader();
});
afterAll(() => reader.close());

const FROM = 'From: Ada <ada@example.com>\r\nMIME-Version: 1.0\r\n';

/** @param head fields, without the last line break */
function read(head: string, body: Buffer | string): Promise<ReadMail> {
  return reader.read(
    Buffer.concat([Buffer.from(`${FROM}${head}\r\n\r\n`, 'latin1'), Buffer.from(body as string)]),
  );
}

async function fileIn(mail: ReadMail, index = 0): Promise<string> {
  const blob = await reader.store.open(mail.attachments[index]?.storageKey ?? '');
  if (!blob) throw new Error('the attachment is not stored');
  return (await buffer(blob.stream)).toString();
}

describe('the type of a text', () => {
  it.each([
    '',
    ';',
    ' ;charset=utf-8',
    'charset=utf-8',
    'text',
    'text/',
    'plain',
    'text/plain,',
    'text/plain/x; charset=utf-8',
    '"text/plain"',
    'TEXT/PLAIN; CHARSET="UTF-8"; format="fixed"',
    'text/plain charset=utf-8',
    'text/plain (a comment) ; charset=utf-8 (another)',
    'text/x-unknown; charset=utf-8',
    'text/markdown; charset=utf-8',
    'text/enriched',
    'unknown',
    'unknown/unknown; charset=utf-8',
    'foo/bar',
    'x-text/x-plain',
    'multipart/mixed',
    'multipart/alternative; charset=utf-8',
    'multipart/mixed; boundary=""',
    'multipart/mixed; boundary="not in the mail"',
    'multipart',
  ])('does not hide it: %j', async (type) => {
    const mail = await read(`Content-Type: ${type}`, 'Größe: words\r\n');
    expect(mail).toMatchObject({ text: 'Größe: words\n', html: null, attachments: [], suspicion: null });
  });

  it.each([
    'text/html charset=utf-8',
    'text/html, charset=utf-8',
    'Text/HTML;charset=utf-8;',
    '"text/html"; charset=utf-8',
    'html; charset=utf-8',
    'text/html ; charset = utf-8',
  ])('is HTML if it is %j', async (type) => {
    const mail = await read(`Content-Type: ${type}`, '<p>Größe</p>\r\n');
    expect(mail).toMatchObject({ text: null, html: '<p>Größe</p>\n', attachments: [] });
  });

  it('may be missing, and the field may come twice', async () => {
    expect(await read('X-A: b', 'words')).toMatchObject({ text: 'words\n' });
    const twice = await read('Content-Type: text/html\r\nContent-Type: text/plain', '<p>words</p>');
    expect(twice).toMatchObject({ text: null, html: '<p>words</p>\n' });
  });

  it('that is not known makes a file of what is no text', async () => {
    const mail = await read('Content-Type: foo/bar\r\nContent-Transfer-Encoding: base64', 'AAECAwQF');
    expect(mail).toMatchObject({ text: null, attachments: [{ filename: 'attachment', size: 6 }] });
  });

  it('of an application shows the words of the only part, which stays a file', async () => {
    const mail = await read('Content-Type: application/x-words', 'words\r\n');
    expect(mail).toMatchObject({ text: 'words\n', attachments: [{ size: 7 }] });
  });
});

describe('the end of a header', () => {
  it.each([
    ['a mail without an empty line', 'From: ada@example.com\r\nwords\r\nmore words\r\n'],
    ['a line that is no field', 'From: ada@example.com\r\n>From me\r\nSubject: x\r\n\r\nwords\r\nmore words\r\n'],
    ['an envelope line', 'From ada Mon Jan  1 00:00:00 2026\r\nFrom: ada@example.com\r\n\r\nwords\r\nmore words\r\n'],
    ['fields that are folded without spaces', 'DKIM-Signature: v=1;\r\nd=x;\r\nnot a field\r\nFrom: ada@example.com\r\n\r\nwords\r\nmore words\r\n'],
    ['a line with two CRs', 'From: ada@example.com\r\n\r\r\nwords\r\r\nmore words\r\n'],
  ])('loses no words: %s', async (_what, raw) => {
    expect((await reader.read(Buffer.from(raw))).text).toBe('words\nmore words\n');
  }); // prettier-ignore
});

describe('the character set', () => {
  const utf8 = Buffer.from('Grüße, 12 €');
  const windows = Buffer.from('Gr\xfc\xdfe, 12 \x80', 'latin1');

  it.each([
    ['of UTF-8 that is not named', 'text/plain', utf8],
    ['of windows-1252 that is not named', 'text/plain', windows],
    ['of UTF-8 that is called ASCII', 'text/plain; charset=us-ascii', utf8],
    ['of windows-1252 that is called ASCII', 'text/plain; charset=US-ASCII', windows],
    ['of windows-1252 that is called UTF-8', 'text/plain; charset=utf-8', windows],
    ['of windows-1252 that is called Latin-1', 'text/plain; charset=iso-8859-1', windows],
    ['that is not known, of UTF-8', 'text/plain; charset=x-klingon', utf8],
    ['that is not known, of windows-1252', 'text/plain; charset=x-klingon', windows],
    ['of UTF-8 that is called Japanese', 'text/plain; charset=iso-2022-jp', utf8],
    ['of UTF-8 that is called Korean', 'text/plain; charset=euc-kr', utf8],
    ['unknown-8bit', 'text/plain; charset=unknown-8bit', windows],
    ['x-unknown', 'text/plain; charset=x-unknown', utf8],
    ['x-user-defined', 'text/plain; charset=x-user-defined', windows],
    ['that is empty', 'text/plain; charset=""', windows],
    ['in quotes of another kind', "text/plain; charset='windows-1252'", windows],
    ['with another spelling of UTF-8', 'text/plain; charset=UTF_8', utf8],
    ['utf8mb4', 'text/plain; charset=utf8mb4', utf8],
    ['cp-1252', 'text/plain; charset=cp-1252', windows],
    ['by a number of Windows', 'text/plain; charset=windows-65001', utf8],
    ['of UTF-16 with a mark', 'text/plain; charset=utf-16', Buffer.from('\ufeffGrüße, 12 €', 'utf16le')],
    ['of UTF-16 with a mark, big end first', 'text/plain; charset=utf-16', Buffer.from('\ufeffGrüße, 12 €', 'utf16le').swap16()],
    ['of UTF-16, big end first', 'text/plain; charset=utf-16be', Buffer.from('Grüße, 12 €', 'utf16le').swap16()],
    ['of UTF-7', 'text/plain; charset=utf-7', Buffer.from('Gr+APwA3w-e, 12 +IKw-')],
    ['of UTF-7 with a longer name', 'text/plain; charset=unicode-1-1-utf-7', Buffer.from('Gr+APwA3w-e, 12 +IKw')],
  ])('is found: %s', async (_what, type, bytes) => {
    const mail = await read(
      `Content-Type: ${type}\r\nContent-Transfer-Encoding: base64`,
      bytes.toString('base64'),
    );
    expect(mail.text).toBe('Grüße, 12 €');
  }); // prettier-ignore

  it.each([
    ['iso-2022-jp', '\x1b$BF|K\\8l\x1b(B', '日本語'],
    ['ISO-2022-JP-2', '\x1b$BF|K\\8l\x1b(B', '日本語'],
    ['', '\x1b$BF|K\\8l\x1b(B', '日本語'],
    ['cp932', '\x93\xfa\x96\x7b\x8c\xea', '日本語'],
    ['x-sjis', '\x93\xfa\x96\x7b\x8c\xea', '日本語'],
    ['eucJP', '\xc6\xfc\xcb\xdc\xb8\xec', '日本語'],
    ['cp936', '\xd6\xd0\xce\xc4', '中文'],
    ['gb2312', '\xd6\xd0\xce\xc4', '中文'],
    ['hz-gb-2312', '~{VPND~}', '中文'],
    ['ms950', '\xa4\xa4\xa4\xe5', '中文'],
    ['ks_c_5601-1987', '\xc7\xd1\xb1\xb9', '한국'],
    ['cp949', '\xc7\xd1\xb1\xb9', '한국'],
    ['iso-2022-kr', '\x1b$)C\x0eGQ19\x0f', '한국'],
    ['koi8-r', '\xf0\xd2\xc9\xd7\xc5\xd4', 'Привет'],
    ['cp1251', '\xcf\xf0\xe8\xe2\xe5\xf2', 'Привет'],
    ['iso8859-2', '\xbf\xf3\xb3\xe6', 'żółć'],
    ['iso-8859-8-i', '\xf9\xec\xe5\xed', 'שלום'],
    ['tis-620', '\xa4\xb9', 'คน'],
    ['macroman', 'caf\x8e', 'café'],
  ])('is known by the name %j', async (label, bytes, expected) => {
    const mail = await read(`Content-Type: text/plain; charset=${label}`, Buffer.from(bytes, 'latin1'));
    expect(mail.text).toBe(`${expected}\n`);
  });

  it.each([
    ['<meta charset="koi8-r">', ''],
    ["<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=KOI8-R'>", ''],
    ['<meta charset=koi8-r>', '; charset=us-ascii'],
    ['<meta charset=koi8-r>', '; charset=x-klingon'],
  ])('of HTML is in %s', async (meta, parameter) => {
    const html = Buffer.from(`<html><head>${meta}</head><p>\xf0\xd2\xc9\xd7\xc5\xd4`, 'latin1');
    expect((await read(`Content-Type: text/html${parameter}`, html)).html).toContain('<p>Привет');
  });

  it('of HTML in UTF-8 is not changed by what a part of it says', async () => {
    const html = '<meta charset="koi8-r"><p>Привет';
    expect((await read('Content-Type: text/html; charset=utf-8', html)).html).toContain('<p>Привет');
  });

  it('loses at most the broken characters of UTF-8', async () => {
    const bytes = Buffer.concat([Buffer.from('Grüße '), Buffer.from([0xe2, 0x82]), Buffer.from(' – ja')]);
    expect((await read('Content-Type: text/plain; charset=utf-8', bytes)).text).toBe('Grüße \ufffd – ja\n');
  });
});

describe('the encoding of a text', () => {
  it.each([
    ['base64 that was forgotten', 'base64', 'Hello, here are words.\r\n', 'Hello, here are words.\n'],
    ['base64 that was forgotten, in letters only', 'base64', 'here are words\r\nand more words\r\n', 'here are words\nand more words\n'],
    ['base64 with a remark of a server', 'base64', 'd29yZHMK\r\n-- \r\nSent by a list.\r\n', 'words\n-- \nSent by a list.\n'],
    ['quoted-printable with broken characters', 'quoted-printable', 'a =ZZ b=\r\n c =', 'a =ZZ b c \n'],
    ['an encoding that is not known', 'x-strange', 'words', 'words\n'],
    ['a misspelt encoding', '8 bit', 'words', 'words\n'],
    ['base64 with a hyphen', 'base-64', 'd29yZHM=', 'words'],
  ])('loses no words: %s', async (_what, encoding, body, expected) => {
    const mail = await read(`Content-Type: text/plain\r\nContent-Transfer-Encoding: ${encoding}`, body);
    expect(mail.text).toBe(expected);
  }); // prettier-ignore
});

it.each(['', '; charset=utf-8', '; charset=x-unknown'])(
  'a text keeps its last character, which is no beginning of another: %j',
  async (parameter) => {
    const mail = await read(`Content-Type: text/plain${parameter}`, Buffer.from('un caf\xe9', 'latin1'));
    expect(mail.text).toBe('un café\n');
  },
);

it.each(['text/htm', 'text/xhtml', 'application/xhtml+xml'])('%s is HTML', async (type) => {
  const mail = await read(`Content-Type: ${type}`, '<html><p>words</p></html>');
  expect(mail).toMatchObject({ text: null, html: '<html><p>words</p></html>\n' });
});

// Servers remove spaces at the end of a line, and an encoded NUL is a space.
it('uuencode keeps what lines without their spaces stand for', async () => {
  const zeros = `M${' '.repeat(60)}`;
  const lines = ['begin 644 a.bin', zeros, `M${' '.repeat(4)}9&%T80${' '.repeat(48)}`, '#   ', '`', 'end'];
  const body = lines.map((line) => line.trimEnd()).join('\r\n');
  const mail = await read(
    'Content-Type: application/x; name=a.bin\r\nContent-Transfer-Encoding: x-uuencode',
    body,
  );
  expect(mail.attachments).toMatchObject([{ size: 93 }]);
  expect(await fileIn(mail)).toMatch(/^\0{48}data\0{41}$/);
});

describe('encoded words', () => {
  it.each([
    ['a character in two words of base64', '=?utf-8?B?Z8O8w58=?= =?utf-8?B?4oI=?=\r\n =?utf-8?B?rCE=?=', 'güß€!'],
    ['a character in two words in Q', '=?UTF-8?Q?12_=E2=82?= =?utf-8?Q?=AC?=', '12 €'],
    ['a character in two words of both encodings', '=?utf-8?B?4oI=?= =?utf-8?Q?=AC?=', '€'],
    ['a character in two words with a language', '=?utf-8*en?Q?=E2=82?= =?utf-8*de?Q?=AC?=', '€'],
    ['base64 that was cut anywhere', '=?utf-8?B?4o?= =?utf-8?B?Ks?=', '€'],
    ['two bytes of one character of another set', '=?shift_jis?B?k/o=?= =?shift_jis?B?lg==?= =?shift_jis?B?ew==?=', '日本'],
    ['words without a space between them', '=?utf-8?Q?a?==?utf-8?Q?b?=', 'ab'],
    ['a character set that is not known', '=?x-klingon?Q?=C3=BC?= =?x-other?Q?=FC?=', 'üü'],
    ['a question mark that is not encoded', '=?utf-8?Q?Really??= yes', 'Really? yes'],
    ['spaces that are not encoded', '=?utf-8?Q?two words?=', 'two words'],
    ['UTF-7', '=?utf-7?Q?Gr+APw-n?=', 'Grün'],
    ['what is no encoded word', '=?utf-8?X?a?= =?b?=', '=?utf-8?X?a?= =?b?='],
  ])('are read as one text: %s', async (_what, subject, expected) => {
    const mail = await read(`Subject: ${subject}`, 'words');
    expect(mail.subject).toBe(expected);
  }); // prettier-ignore

  it('in a name are not taken for an address', async () => {
    const mail = await reader.read(
      'From: =?utf-8?Q?eve=40mallory.example=2C_=E2=82?= =?utf-8?Q?=AC?= <ada@example.com>\n\nwords\n',
    );
    expect(mail).toMatchObject({
      from: '"eve@mallory.example, €" <ada@example.com>',
      senderKey: 'ada@example.com',
    });
  });

  it('may be missing: fields are in UTF-8, or in the character set of older programs', async () => {
    expect(await read(`Subject: ${Buffer.from('Größe').toString('latin1')}`, '')).toMatchObject({
      subject: 'Größe',
    });
    expect(await read('Subject: Gr\xf6\xdfe', '')).toMatchObject({ subject: 'Größe' });
  });

  it('may be missing, but no line becomes a field that it is not for other programs', async () => {
    const lines = [
      '\xef\xbb\xbfFrom: <eve@mallory.example>',
      '\xff\xfeF\0r\0o\0m\0:\0 \0e\0@\0x\0',
      'Subject: \xf6',
    ];
    const mail = await read(lines.join('\r\n'), 'words');
    expect(mail).toMatchObject({ from: 'Ada <ada@example.com>', senderKey: 'ada@example.com', subject: 'ö' });
  });

  it('are not read in ids, which other mails repeat', async () => {
    const mail = await read('Message-ID: <=?utf-8?Q?a?=@x>\r\nIn-Reply-To: <=?utf-8?Q?b?=@x>', 'words');
    expect(mail).toMatchObject({ internetId: '=?utf-8?Q?a?=@x', referenceIds: ['=?utf-8?Q?b?=@x'] });
  });
});

describe('a text with a name', () => {
  const mixed = (...parts: string[]) => parts.map((part) => `--b\r\n${part}\r\n`).join('');
  const BODY = 'Content-Type: text/plain\r\n\r\nwords';

  it.each([
    'Content-Type: text/plain; name=a.txt\r\nContent-Disposition: inline; filename=a.txt',
    'Content-Type: text/plain\r\nContent-Disposition: inline; filename="a.txt"',
    'Content-Type: text/plain; charset=us-ascii; name=a.txt',
    'Content-Type: text/html; name=a.txt\r\nContent-Disposition: INLINE',
    'Content-Type: text/markdown; name=a.txt',
    'Content-Type: text/plain\r\nContent-Disposition: attachment; filename=a.txt',
  ])('stays a file, byte for byte: %j', async (head) => {
    const content = 'a,b\r\n\r\n1,\xa0 2 \r\n';
    const mail = await read(
      'Content-Type: multipart/mixed; boundary=b',
      mixed(BODY, `${head}\r\n\r\n${content}`),
    );
    expect(mail).toMatchObject({ text: 'words\n', html: null, attachments: [{ filename: 'a.txt' }] });
    expect(await fileIn(mail)).toBe(content);
  });

  it('is shown, too, if the mail has no other', async () => {
    const mail = await read('Content-Type: text/plain; name=a.txt', 'words\r\n');
    expect(mail).toMatchObject({ text: 'words\n', attachments: [{ filename: 'a.txt', size: 7 }] });
  });

  it('is not shown instead of another if it is empty', async () => {
    const named = (name: string, body: string) => `Content-Type: text/plain; name=${name}\r\n\r\n${body}`;
    const mail = await read(
      'Content-Type: multipart/mixed; boundary=b',
      mixed(named('a.txt', ''), named('b.txt', 'words')),
    );
    expect(mail).toMatchObject({ text: 'words\n', attachments: [{ size: 0 }, { size: 5 }] });
  });

  it('is a text as one of several alternatives', async () => {
    const html = 'Content-Type: text/html; name=mail.html\r\n\r\n<p>words</p>';
    const mail = await read('Content-Type: multipart/alternative; boundary=b', mixed(BODY, html));
    expect(mail).toMatchObject({ text: 'words\n', html: '<p>words</p>\n', attachments: [] });
  });

  it('that programs read is a file without a name as well', async () => {
    const mail = await read(
      'Content-Type: multipart/mixed; boundary=b',
      mixed(BODY, 'Content-Type: text/calendar; method=REQUEST\r\n\r\nBEGIN:VCALENDAR', 'Content-Type: text/csv\r\n\r\na,b'),
    ); // prettier-ignore
    expect(mail.text).toBe('words\n');
    expect(mail.attachments.map(({ filename }) => filename)).toEqual(['attachment.ics', 'attachment.csv']);
  });
});

describe('words outside of the parts', () => {
  const FILE = '--b\r\nContent-Type: application/pdf; name=a.pdf\r\n\r\n%PDF\r\n--b--\r\n';

  it.each([
    ['before them', `words\r\n${FILE}`],
    ['after them', `This is a multi-part message in MIME format.\r\n${FILE}words\r\n`],
  ])('are shown if there are no others: %s', async (_where, body) => {
    const mail = await read('Content-Type: multipart/mixed; boundary=b', body);
    expect(mail).toMatchObject({ text: 'words\n', attachments: [{ filename: 'a.pdf' }] });
  });

  it('are not shown if they are about MIME, or if there are others', async () => {
    const type = 'Content-Type: multipart/mixed; boundary=b';
    const note = await read(type, `This is a multi-part message in MIME format.\r\n\r\n${FILE}`);
    expect(note.text).toBeNull();
    expect((await read(type, `before\r\n--b\r\n\r\nwords\r\n${FILE}after\r\n`)).text).toBe('words\n');
  });
});

describe('several texts', () => {
  const mixed = (type: string, ...parts: string[]) =>
    read(`Content-Type: multipart/${type}; boundary=b`, parts.map((part) => `--b\r\n${part}\r\n`).join(''));

  it('are all shown, in both forms', async () => {
    const mail = await mixed(
      'mixed',
      'Content-Type: text/html\r\n\r\n<p>first &amp; words</p>',
      'Content-Type: text/plain\r\n\r\nlast <words>',
    );
    expect(mail.text).toBe('first & words\nlast <words>\n');
    expect(mail.html).toBe('<p>first &amp; words</p>\n\n<div>last &lt;words&gt;</div>');
  });

  it('stand for each other as alternatives, also if one of them has images', async () => {
    const mail = await mixed(
      'alternative',
      'Content-Type: text/plain\r\n\r\nwords',
      'Content-Type: multipart/related; boundary=r\r\n\r\n--r\r\nContent-Type: text/html\r\n\r\n<p>words</p>\r\n--r\r\nContent-Type: image/gif\r\nContent-ID: <i@x>\r\n\r\nGIF89a\r\n--r--',
    );
    expect(mail).toMatchObject({
      text: 'words\n',
      html: '<p>words</p>\n',
      attachments: [{ contentId: 'i@x', inline: true }],
    });
  });
});

describe('a long text', () => {
  it.each([
    ['', (line: string) => line],
    ['\r\nContent-Transfer-Encoding: base64', (line: string) => Buffer.from(line).toString('base64')],
    ['\r\nContent-Transfer-Encoding: quoted-printable', (line: string) => line.replaceAll('€', '=E2=82=AC')],
  ])('in one line is cut at a character%j', async (field, encode) => {
    const line = 'words of 12 € '.repeat(200_000);
    const { text, truncated, suspicion } = await read(
      `Content-Type: text/plain; charset=utf-8${field}`,
      encode(line),
    );
    expect({ truncated, suspicion }).toEqual({ truncated: true, suspicion: null });
    expect(Buffer.byteLength(text ?? '')).toBeGreaterThan(512 * 1024 - 3);
    expect(line.startsWith(text ?? '-')).toBe(true);
  });

  it.each(['', '; format=flowed'])(
    'of carriage returns takes no longer than others: %j',
    async (parameter) => {
      const { suspicion, truncated } = await read(
        `Content-Type: text/plain${parameter}`,
        '\r'.repeat(1_500_000),
      );
      expect({ suspicion, truncated }).toEqual({ suspicion: null, truncated: true });
    },
  );

  it('before another leaves the other out, which is no loss without a sign', async () => {
    const parts = [
      `Content-Type: text/plain\r\n\r\n${'a'.repeat(2_000_000)}`,
      'Content-Type: text/plain\r\n\r\nlast',
    ];
    const mail = await read(
      'Content-Type: multipart/mixed; boundary=b',
      parts.map((part) => `--b\r\n${part}\r\n`).join(''),
    ); // prettier-ignore
    expect(mail.truncated).toBe(true);
  });
});

describe('flowed lines', () => {
  const flowed = (body: string, parameters = '') =>
    read(`Content-Type: text/plain; format=flowed${parameters}`, body);

  it('are joined, except in quotes and before a signature', async () => {
    const { text } = await flowed(
      'One \r\nparagraph.\r\n> A quote \r\n> of two lines\r\n>> and more \r\n> quotes \r\nAn \r\nanswer \r\n> Quote\r\n\r\n >no quote\r\n-- \r\nAda\r\n',
    );
    expect(text).toBe(
      'One paragraph.\n> A quote\n> of two lines\n>> and more\n> quotes\nAn answer \n> Quote\n\n>no quote\n-- \nAda\n',
    );
  });

  it('lose the space at their end if it was added', async () => {
    expect((await flowed('日本 \r\n語\r\n', '; delsp=yes')).text).toBe('日本語\n');
  });
});
