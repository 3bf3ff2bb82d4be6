// A letter with files has the right parts and names, is read alike by two parsers, and always has the same bytes.
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Attachment } from 'postal-mime';
import { InvalidMessageError } from '../../../../src/delivery/content/mime/header-fields.ts';
import { namedContentIds } from '../../../../src/delivery/content/mime/content-ids.ts';
import { prepareWhole, type WholeContent } from '../../../../src/delivery/content/mime/whole.ts';
import { buildLetter, file, letter, type PythonMail, readByPython, type TestFile } from './letters.ts';
import { address, build, email, parse, split, wireFaults } from './wire.ts';

const pdf = file('invoice.pdf', 'application/pdf', { size: 40_000 });
const logo = file('logo.png', 'image/png', { contentId: 'logo@shop', disposition: 'inline' });
const photo = file('photo.jpg', 'image/jpeg', { contentId: 'photo', disposition: 'attachment' });
const invite = file('invite.ics', 'text/calendar; method=REQUEST', {
  bytes: Buffer.from('BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nEND:VCALENDAR\r\n'),
});
const twenty = Array.from({ length: 20 }, (_, n) =>
  file(`${n}.bin`, 'application/octet-stream', { size: n * 57 + 1 }),
);
const names = [
  'Rechnung für März.pdf',
  'Τιμολόγιο.pdf',
  'חשבונית.pdf',
  '請求書 漢字.pdf',
  'चालान 👩‍👩‍👧‍👦.pdf',
].concat(
  `${'Ein sehr langer Name für keine Zeile '.repeat(5)}.pdf`,
  `${'a very long name that does not fit into a line '.repeat(5)}.pdf`,
  'quoted "name" \\ with (marks) = * %20.txt',
);
const named = names.map((name) => file(name, 'application/pdf'));
const html = '<p>See <img src="cid:logo@shop"> <img src=\'CID:photo\'></p>';

const letters: [string, WholeContent, string][] = [
  ['a text', letter(), 'text/plain'],
  ['a text and HTML', letter({ html }), 'multipart/alternative(text/plain text/html)'],
  ['a text and a file', letter({ files: [pdf] }), 'multipart/mixed(text/plain application/pdf)'],
  [
    'HTML and a file',
    letter({ html, files: [pdf] }),
    'multipart/mixed(multipart/alternative(text/plain text/html) application/pdf)',
  ],
  [
    'HTML with images',
    letter({ html, files: [logo, photo] }),
    'multipart/alternative(text/plain multipart/related(text/html image/png image/jpeg))',
  ],
  [
    'HTML without a text, and an image',
    letter({ html, text: '', files: [logo] }),
    'multipart/related(text/html image/png)',
  ],
  [
    'an image that the HTML does not name',
    letter({ html: '<p>cid: logo</p>', text: '', files: [logo] }),
    'multipart/mixed(text/html image/png)',
  ],
  ['an image without HTML', letter({ files: [logo] }), 'multipart/mixed(text/plain image/png)'],
  ['an invitation', letter({ files: [invite] }), 'multipart/alternative(text/plain text/calendar)'],
  [
    'a calendar that is no invitation',
    letter({ files: [{ ...invite, contentType: 'text/calendar; charset="utf-8"' }] }),
    'multipart/mixed(text/plain text/calendar)',
  ],
  [
    'everything',
    letter({ html, files: [pdf, invite, photo, logo] }),
    'multipart/mixed(multipart/alternative(text/plain multipart/related(text/html image/jpeg image/png) text/calendar)' +
      ' application/pdf)',
  ],
  [
    '20 files',
    letter({ html, files: twenty }),
    `multipart/mixed(multipart/alternative(text/plain text/html)${' application/octet-stream'.repeat(20)})`,
  ],
  [
    'names in many scripts',
    letter({ files: named }),
    `multipart/mixed(text/plain${' application/pdf'.repeat(named.length)})`,
  ],
];

const recipients = {
  to: ['Ada <ada@example.com>', 'jo@example.org', '"Smith, Jo \\"J\\"" <smith@example.net>'].map(address),
  cc: ['Ünal Çelik <unal@example.com>', `${'名前'.repeat(60)} <long@example.com>`].map(address),
  replyTos: ['help@example.com', 'Sales <sales@example.com>'],
};

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const bytesOf = (content: Attachment['content']) => Buffer.from(content as ArrayBuffer);

describe('a letter with', () => {
  const mailsByPython = new Map<string, PythonMail>();
  beforeAll(async () => {
    const built = await Promise.all(letters.map(([, content]) => buildLetter(content)));
    const mails = readByPython(built.map(({ data }) => data));
    for (const [n, mail] of mails.entries()) mailsByPython.set(letters[n]?.[0] ?? '', mail);
  });

  it.each(letters)('%s has its parts and files, for both parsers', async (name, content, structure) => {
    const built = await buildLetter(content);
    const byPython = mailsByPython.get(name) as PythonMail;
    expect(byPython).toMatchObject({ structure, defects: [] });
    const texts = [byPython.texts['text/plain'], byPython.texts['text/html']].map((text) => text?.trim());
    expect(texts).toEqual([content.text || undefined, content.html ?? undefined]);
    const expected = content.letter.files.map((given) => [given.filename, given.size, given.sha256]);
    expect(byPython.files.map(({ filename, size, sha256: sha }) => [filename, size, sha]).sort()).toEqual(
      expected.sort(),
    );
    const byPostal = await parse(built);
    // It changes the line ends of texts, such as invitations.
    const readOf = (filename: string | null, type: string, bytes: Buffer) => [
      filename,
      sha256(type.startsWith('text/') ? Buffer.from(bytes.toString().replaceAll('\r\n', '\n')) : bytes),
    ];
    const read = byPostal.attachments.map((one) => readOf(one.filename, one.mimeType, bytesOf(one.content)));
    const files = content.letter.files as TestFile[];
    expect(read.sort()).toEqual(files.map((one) => readOf(one.filename, one.contentType, one.bytes)).sort());
    expect(byPostal.html?.trim()).toBe(content.html ?? undefined);
    expect(wireFaults(built)).toEqual([]);
  });

  it('files gives them their ids, dispositions and methods', () => {
    const found = Object.fromEntries(
      mailsByPython.get('everything')?.files.map((one) => [one.filename, one]) ?? [],
    );
    expect(found).toMatchObject({
      'invoice.pdf': { disposition: 'attachment', contentId: null, method: null },
      'logo.png': { disposition: 'inline', contentId: '<logo@shop>' },
      'photo.jpg': { disposition: 'attachment', contentId: '<photo>' },
      'invite.ics': { disposition: null, method: 'REQUEST' },
    });
  });

  it('several recipients shows each on a line of its own', async () => {
    const built = await buildLetter(letter(recipients));
    const { head } = split(built);
    expect(head).toContain(
      'Reply-To: help@example.com,\r\n Sales <sales@example.com>\r\n' +
        'Subject: Hello\r\n' +
        'To: Ada <ada@example.com>,\r\n jo@example.org,\r\n "Smith, Jo \\"J\\"" <smith@example.net>\r\nCc: ',
    );
    const [byPython] = readByPython([built.data]);
    const shown = (all: { name: string | null; address: string }[]) =>
      all.map((one): [string, string] => [one.name ?? '', one.address]);
    expect(byPython).toMatchObject({
      to: shown(recipients.to),
      replyTo: shown(recipients.replyTos.map(address)),
      defects: [],
    });
    // Python leaves spaces between the encoded words of a name, which RFC 2047 §6.2 does not allow.
    const joined = (all: [string, string][]) => all.map(([name, found]) => [name.replaceAll(' ', ''), found]);
    expect(joined(byPython?.cc ?? [])).toEqual(joined(shown(recipients.cc)));
    const byPostal = await parse(built);
    expect(byPostal.cc?.map(({ name, address: found }) => [name, found])).toEqual(shown(recipients.cc));
    expect(wireFaults(built)).toEqual([]);
  });

  it('no recipient to show says so', async () => {
    const { head } = split(await buildLetter(letter({ to: [] })));
    expect(head).toContain('\r\nTo: undisclosed-recipients:;\r\n');
    expect(split(await buildLetter(letter({ to: [], cc: recipients.cc }))).head).not.toContain('To:');
  });

  it('an address that is not ASCII needs SMTPUTF8 in every copy', async () => {
    const built = await buildLetter(letter({ cc: [address('jörg@example.com')], files: [pdf] }));
    expect(built.smtpUtf8).toBe(true);
    expect(wireFaults(built)).toEqual([]);
  });

  it('the same content has the same bytes, and another boundary if a file differs', async () => {
    const [, content] = letters.at(10) as [string, WholeContent, string];
    const built = await buildLetter(content);
    expect((await buildLetter(structuredClone(content))).data.equals(built.data)).toBe(true);
    const boundaryOf = ({ data }: { data: Buffer }) => /boundary="(.*?)"/.exec(data.toString('latin1'))?.[1];
    const files = content.letter.files.map((one) => (one === pdf ? { ...pdf, sha256: 'other' } : one));
    const other = { ...content, letter: { ...content.letter, files } };
    expect(boundaryOf(await buildLetter(other))).not.toBe(boundaryOf(built));
  });

  it('one recipient and no file is the same email as without a letter', async () => {
    const { data } = await buildLetter(letter({ html }));
    expect(data.toString()).toBe(build(email({ html })).data.toString());
  });
});

it.each([
  [{ headers: { '.hidden': 'x' } }, 'a letter cannot have the header ".hidden"'],
  [{ headers: { Cc: 'x@example.com' } }, 'header "Cc" is reserved'],
  [
    { files: [file('x', 'text/plain\r\nBcc: x')] },
    'the type "text/plain\\r\\nBcc: x" of a file is malformed',
  ],
  [{ files: [file('x', 'text/plain; a')] }, 'the type "text/plain; a" of a file is malformed'],
  [{ files: [file('x', 'text/plain', { contentId: 'a\r\nb' })] }, 'a Content-ID is not valid'],
])('refuses %j', (changes, message) => {
  expect(() => prepareWhole(letter(changes))).toThrow(new InvalidMessageError(message));
});

it('finds the Content-IDs that HTML names', () => {
  const found = namedContentIds(
    `<img src="cid:a@b.c"><td background=cid:d><p style="background: url('CID:e%2Bf')">cid:%zz acid:no`,
  );
  expect([...found]).toEqual(['a@b.c', 'd', 'e+f', '%zz']);
  expect(namedContentIds(null).size).toBe(0);
});
