// What a file is decides whether it may be sent, and with which name and type.
import { expect, it } from '@jest/globals';
import { loadConfig } from '../../../src/config.ts';
import { bufferSource } from '../../../src/features/attachments/byte-source.ts';
import { checkFile } from '../../../src/features/attachments/checks.ts';
import { decodeFile } from '../../../src/features/attachments/decode.ts';
import { zipOf } from '../../support/zip-shapes.ts';

const blocked = loadConfig({}).ATTACHMENT_BLOCKED_EXTENSIONS;
const PDF = Buffer.from('%PDF-1.7\n%âãÏÓ\n1 0 obj');
const EXE = Buffer.from(`MZ${'\0'.repeat(80)}`, 'latin1');
const ELF = Buffer.from(`\x7fELF\x02\x01\x01${'\0'.repeat(60)}`, 'latin1');
const SHORTCUT = Buffer.from('4c0000000114020000000000c000000000000046', 'hex');
const calendar = (method: string) =>
  Buffer.from(
    `BEGIN:VCALENDAR\r\nVERSION:2.0\r\n${method}BEGIN:VEVENT\r\nMETHOD:NO\r\nEND:VEVENT\r\nEND:VCALENDAR`,
  );
const ICS = calendar('METH\r\n OD:REQUEST\r\n');
const check = (bytes: Buffer, filename: string, contentType: string | null = null, list = blocked) =>
  checkFile(bufferSource(bytes), { filename, contentType }, list);

it.each([
  ['a.pdf', PDF, 'application/pdf'],
  ['a.txt', Buffer.from('plain'), 'text/plain; charset=utf-8'],
  ['a', Buffer.from('plain'), 'text/plain; charset=utf-8'],
  ['Liste.CSV', Buffer.from('Straße,Ort'), 'text/csv; charset=utf-8'],
  ['a.html', Buffer.from('<!doctype html><p>Hi'), 'text/html; charset=utf-8'],
  ['a.svg', Buffer.from('<?xml version="1.0"?><svg/>'), 'image/svg+xml'],
  ['long.md', Buffer.from('ж'.repeat(40_000)), 'text/markdown; charset=utf-8'],
  ['cut.md', Buffer.from(`x${'ж'.repeat(40_000)}`), 'text/markdown; charset=utf-8'],
  ['a.bin', Buffer.from([0, 1, 2, 0xff]), 'application/octet-stream'],
  ['a.zip', zipOf(['a.txt']), 'application/zip'],
  ['many.zip', zipOf(Array.from({ length: 5_000 }, (_, n) => `${n}.txt`)), 'application/zip'],
  [
    'Brief.docx',
    zipOf(['word/document.xml']),
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  ],
  ['invite.ics', ICS, 'text/calendar; charset=utf-8; method=REQUEST'],
  ['holidays.ics', calendar(''), 'text/calendar; charset=utf-8'],
])('finds the type of %s', async (name, bytes, contentType) => {
  expect(await check(bytes, name)).toEqual({ filename: name, contentType, problems: [] });
});

it('keeps the type that the client gives, and adds only the method of an invitation', async () => {
  const given = async (type: string, bytes = PDF) => {
    const { contentType, problems } = await check(bytes, 'a.pdf', type);
    return problems.length > 0 ? problems : contentType;
  };
  expect(await given('application/x-own; a="b;c"')).toBe('application/x-own; a="b;c"');
  // A name that is not checked must not reach mail clients.
  expect(await given('application/pdf; name="a;b.exe"; x=y;NAME*0*=utf-8\'\'a.exe')).toBe(
    'application/pdf; x=y',
  );
  expect(await given('text/calendar; charset=utf-8', ICS)).toBe(
    'text/calendar; charset=utf-8; method=REQUEST',
  );
  expect(await given('Text/Calendar; METHOD=request', ICS)).toBe(
    'Text/Calendar; METHOD=request; charset=utf-8',
  );
  const problem = (message: string) => [{ part: 'content_type', message }];
  expect(await given('text/calendar; method=CANCEL', ICS)).toEqual(
    problem('has the method CANCEL, but the file has REQUEST'),
  );
  expect(await given('text/calendar; method=REQUEST', calendar(''))).toEqual(
    problem('has the method REQUEST, but the file has none'),
  );
});

const refused = (what: string) => `${what}, which large mailbox providers refuse`;
it.each([
  ['setup.EXE', PDF, 'filename', refused('names a file of the type .exe')],
  ['folder/run.bat. ', PDF, 'filename', refused('names a file of the type .bat')],
  [`${'x'.repeat(195)}.bat. ${'x'.repeat(20)}`, PDF, 'filename', refused('names a file of the type .bat')],
  [`${'x'.repeat(195)}.bat ${'x'.repeat(20)}`, PDF, 'filename', refused('names a file of the type .bat')],
  ['gpj\u202e.scr', PDF, 'filename', refused('names a file of the type .scr')],
  ['photo.jpg', EXE, 'content', refused('is a Windows program')],
  ['photo.jpg', ELF, 'content', refused('is a Linux program')],
  ['photo.jpg', SHORTCUT, 'content', refused('is a Windows shortcut')],
  ['a.zip', zipOf(['readme.txt', 'bin/Setup.exe']), 'content', refused('contains Setup.exe')],
  ['a.docx', zipOf(['a.js'], { comment: 'PK\x05\x06'.padEnd(60) }), 'content', refused('contains a.js')],
  ['a.zip', zipOf(['a.js'], { zip64: true }), 'content', refused('contains a.js')],
  ['a.zip', zipOf(['a.txt', 'b.vbs'], { before: 'PK\x03\x04junk' }), 'content', refused('contains b.vbs')],
  ['a.zip', zipOf(['a.txt', 'b.hta. ']), 'content', refused('contains b.hta')],
  [
    'a.zip',
    zipOf(Array.from({ length: 2_001 }, () => 'a.ü')),
    'content',
    'is a zip file with more than 2000 unusual names',
  ],
  ['a.zip', zipOf(['a.js']).subarray(0, -3), 'content', 'is a zip file whose directory cannot be read'],
])('refuses %s', async (name, bytes, part, message) => {
  expect((await check(bytes, name)).problems).toEqual([{ part, message }]);
  expect((await check(bytes, name, null, new Set())).problems).toEqual([]);
});

it('decodes base64 with and without line breaks, and nothing else', async () => {
  const decode = async (content: string) => {
    const { size, problems } = await decodeFile({ filename: 'a', contentType: null, content }, blocked);
    return problems[0]?.message ?? size;
  };
  const lines = `${'QUJD'.repeat(19)}\r\nQUI=`;
  expect(await decode(lines)).toBe(59);
  expect(await decode(lines.replace('\r', ''))).toBe(59);
  const not = expect.stringContaining('must be base64 with padding');
  for (const bad of ['QUI', 'QUJ=', 'QU I=', 'QUI=QUI=', 'a-_=', 'data:text/plain;base64,QUI=', 'ÄÄÄÄ'])
    expect([bad, await decode(bad)]).toEqual([bad, not]);
  expect(await decode('\r\n')).toBe('is an empty file');
});
