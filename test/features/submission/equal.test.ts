// Rebuilt mail arrives equal by Python's email package, and signed or encrypted mail byte for byte.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestSubmission, type TestSubmission } from '../../support/submitted-mails.ts';

const script = fileURLToPath(new URL('../../support/mail-suite/contents.py', import.meta.url));
const clients = fileURLToPath(new URL('../../support/client-mails/', import.meta.url));

const run = promisify(execFile);

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

const FLOWED =
  'Content-Type: text/plain; charset=utf-8; format=flowed; delsp=yes\r\n\r\nA long \r\nword  \r\nand\r\n From here.\r\n> quoted\r\n-- \r\nAnn\r\n';

let count = 0;
function multipart(subtype: string, ...parts: string[]): string {
  const boundary = `b${(count += 1)}`;
  return `Content-Type: multipart/${subtype}; boundary="${boundary}"\r\n\r\nA note.\r\n${parts.map((each) => `--${boundary}\r\n${each}`).join('')}--${boundary}--\r\n`;
}

const made: Record<string, string> = {
  text: TEXT,
  flowed: FLOWED,
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
  const { stdout } = await run('python3', [script, target]);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { name: string; text: string | null });
}

it('arrives equal', async () => {
  const before: Record<string, string> = {};
  for (const [name, raw] of Object.entries(made)) before[name] = HEADER + raw;
  for (const name of ['apple-mail.eml', 'gmail.eml', 'outlook.eml', 'thunderbird.eml'])
    before[name] = await fromClient(name);
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

/** The output of openssl in the folder, which has a key and a certificate of the sender. */
const openssl = async (...options: string[]) => (await run('openssl', options, { cwd: folder })).stdout;

const SECRET = 'A secret.\r\nFrom Ann\r\n.dot\r\n';
const PGP = [
  ...[
    'Content-Type: multipart/encrypted; protocol="application/pgp-encrypted";',
    ' boundary="p"',
    '',
    'A note.',
  ],
  ...[
    '--p',
    'Content-Type: application/pgp-encrypted',
    'Content-Description: PGP/MIME version',
    '',
    'Version: 1',
  ],
  ...['', '--p', 'Content-Type: application/octet-stream; name="encrypted.asc"', ''],
  ...[
    '-----BEGIN PGP MESSAGE-----',
    '',
    'hQEMA0ZtZXNzYWdl',
    '=q1Xo',
    '-----END PGP MESSAGE-----',
    '',
    '--p--',
    '',
  ],
].join('\r\n');

describe('byte for byte', () => {
  const bodyOf = (raw: string) => raw.slice(raw.indexOf('\r\n\r\n') + 4);

  /** What arrives of a mail, which differs only in its header; with the fields that describe its body. */
  async function arrivedAs(raw: string, name: string): Promise<string> {
    const [arrived = ''] = await stage.deliver(Buffer.from(HEADER + raw, 'latin1'), ['ada@example.com']);
    expect(bodyOf(arrived)).toBe(bodyOf(raw));
    const type = /^Content-Type:.*(?:\r\n[ \t].*)*\r\n/im.exec(raw)?.[0] ?? '';
    expect(arrived).toContain(type);
    await writeFile(join(folder, name), arrived, 'latin1');
    return arrived;
  }

  beforeAll(async () => {
    await openssl(
      ...[
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-days',
        '2',
        '-subj',
        '/CN=Ann/emailAddress=shop@own.test',
      ],
      ...['-keyout', 'ann.key', '-out', 'ann.pem'],
    );
    await writeFile(join(folder, 'entity'), `Content-Type: text/plain\r\n\r\n${SECRET}`);
  });

  it.each([
    ['detached', [] as string[]],
    ['within its content', ['-nodetach']],
  ])('arrives S/MIME with a signature %s, which holds', async (name, options) => {
    const signer = ['-signer', 'ann.pem', '-inkey', 'ann.key'];
    const made = await openssl('cms', '-sign', '-in', 'entity', '-binary', '-crlfeol', ...signer, ...options);
    const raw = made.replace(/^MIME-Version: 1\.0\r?\n/, '').replace(/\r?\n/g, '\r\n');
    await arrivedAs(raw, name);
    const trusted = ['-CAfile', 'ann.pem', '-purpose', 'any'];
    expect(await openssl('cms', '-verify', '-in', name, ...trusted)).toContain(SECRET);
  });

  it('arrives encrypted S/MIME, which its recipient decrypts', async () => {
    const made = await openssl('cms', '-encrypt', '-aes256', '-in', 'entity', '-binary', 'ann.pem');
    const raw = made.replace(/^MIME-Version: 1\.0\r?\n/, '').replace(/\r?\n/g, '\r\n');
    expect(await arrivedAs(raw, 'encrypted')).not.toContain('secret');
    const key = ['-recip', 'ann.pem', '-inkey', 'ann.key'];
    expect(await openssl('cms', '-decrypt', '-in', 'encrypted', ...key)).toContain(SECRET);
  });

  it('arrives PGP/MIME', async () => {
    await arrivedAs(PGP, 'pgp');
  });
});
