// A mail that is rebuilt has the texts, files, ids and addresses that it had, as Python's email package reads both.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startTestSubmission, type TestSubmission } from '../../support/submitted-mails.ts';

const script = fileURLToPath(new URL('../../support/mail-suite/contents.py', import.meta.url));
const clients = fileURLToPath(new URL('../../support/client-mails/', import.meta.url));

let stage: TestSubmission;
let folder: string;
beforeAll(async () => {
  stage = await startTestSubmission();
  folder = await mkdtemp(join(tmpdir(), 'carillon-equal-'));
});
afterAll(async () => {
  await stage.close();
  await rm(folder, { recursive: true, force: true });
});

const HEADER =
  'From: shop@own.test\r\nTo: =?utf-8?Q?J=C3=B6rg?= <ada@example.com>, "Doe, John" <john@example.org>\r\nCc: cid@example.com\r\n' +
  'Subject: =?utf-8?B?R3LDvMOfZQ==?= and more\r\nMIME-Version: 1.0\r\n';
const PNG =
  'Content-Type: image/png; name="logo.png"\r\nContent-ID: <logo@x>\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: inline; filename="logo.png"\r\n\r\niVBORw0KGgo=\r\n';
const PDF =
  "Content-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment;\r\n filename*=UTF-8''Rechnung%20%C3%A4.pdf\r\n\r\nJVBERi0xLjQK\r\n";
const ICS =
  'Content-Type: text/calendar; charset=utf-8; method=REQUEST; name=invite.ics\r\n\r\nBEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nEND:VCALENDAR\r\n';
const TEXT =
  'Content-Type: text/plain; charset=iso-8859-15\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nCaf=E9, 5 =A4 =\r\nand a long line\r\n.dot\r\n';
const HTML =
  'Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\nPHA+R3LDvMOfZSA8aW1nIHNyYz0iY2lkOmxvZ29AeCI+PC9wPg==\r\n';

let count = 0;
function multipart(subtype: string, ...parts: string[]): string {
  const boundary = `b${(count += 1)}`;
  return `Content-Type: multipart/${subtype}; boundary="${boundary}"\r\n\r\nA note.\r\n${parts.map((each) => `--${boundary}\r\n${each}`).join('')}--${boundary}--\r\n`;
}

const made: Record<string, string> = {
  text: TEXT,
  html: HTML,
  both: multipart('alternative', TEXT, HTML),
  'inline image': multipart('related', multipart('alternative', TEXT, HTML), PNG),
  'a file': multipart('mixed', TEXT, PDF),
  invitation: multipart('mixed', multipart('alternative', TEXT, HTML, ICS), PDF),
  everything: multipart('mixed', multipart('alternative', TEXT, multipart('related', HTML, PNG), ICS), PDF),
};

/** A mail of a client, from our sender to a recipient of the test. */
async function fromClient(name: string): Promise<string> {
  const text = (await readFile(join(clients, name), 'latin1')).replace(/\r?\n/g, '\r\n');
  const kept = text.replace(/^(?:from|to|cc|reply-to|sender):.*(?:\r\n[ \t].*)*\r\n/gim, '');
  return `From: shop@own.test\r\nTo: ada@example.com\r\n${kept}`;
}

async function contents(
  name: string,
  mails: Record<string, string>,
): Promise<{ name: string; text: string | null }[]> {
  const target = await mkdtemp(join(folder, name));
  for (const [key, raw] of Object.entries(mails))
    await writeFile(join(target, key), Buffer.from(raw, 'latin1'));
  const { stdout } = await promisify(execFile)('python3', [script, target]);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { name: string; text: string | null });
}

it('arrives equal', async () => {
  const before: Record<string, string> = {};
  for (const [name, raw] of Object.entries(made)) before[name] = HEADER + raw;
  for (const name of ['apple-mail.eml', 'gmail.eml', 'outlook.eml']) before[name] = await fromClient(name);
  const after: Record<string, string> = {};
  for (const [name, raw] of Object.entries(before)) {
    [after[name] = ''] = await stage.deliver(Buffer.from(raw, 'latin1'), ['ada@example.com']);
  }
  const expected = await contents('before', before);
  // HTML alone gets a text, as in all mail.
  const html = expected.find(({ name }) => name === 'html');
  if (html) html.text = 'Grüße';
  expect(await contents('after', after)).toEqual(expected);
});
