// A program that reads five mails of 25 MB at once, and prints how, with the peak of its memory in MB.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { createMailReader } from '../../src/features/inbox/mail/reader.ts';
import { newBlobKey } from '../../src/platform/storage/blob-store.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';

/** `maxRSS` would begin with the memory of the process that has started this one. */
async function peakMb(): Promise<number> {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(await readFile('/proc/self/status', 'utf8')) ?? [];
  return Math.round(Number(kilobytes) / 1024);
}

const MEGABYTE = 1024 * 1024;
const BYTES = 25 * MEGABYTE;
const COPIES = 5;

interface BigMail {
  head: string;
  /** Repeated until the mail is big. */
  line: string;
  tail?: string;
}

const FROM = 'From: ada@example.com\r\nSubject: Big\r\nMIME-Version: 1.0\r\n';
const MIXED = `${FROM}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n`;
const mails: Record<string, BigMail> = {
  base64: {
    head: `${MIXED}Content-Type: application/zip; name=a.zip\r\nContent-Transfer-Encoding: base64\r\n\r\n`,
    line: `${'QUJD'.repeat(19)}\r\n`,
    tail: '--b--\r\n',
  },
  text: { head: `${FROM}Content-Type: text/plain\r\n\r\n`, line: `${'Hello, world! '.repeat(5)}\r\n` },
  html: {
    head: `${FROM}Content-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n`,
    line: `${'<p>caf=C3=A9</p>'.repeat(4)}=\r\n`,
  },
  attached: {
    head: `${MIXED}Content-Type: message/rfc822\r\n\r\n${FROM}\r\n`,
    line: `${'x'.repeat(76)}\r\n`,
    tail: '--b--\r\n',
  },
  signed: {
    head: `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.com; s=s1; h=from; bh=eA==; b=eA==\r\n${FROM}\r\n`,
    line: `${'Hello, world! '.repeat(5)}\r\n`,
  },
};

/** Piece by piece, so that making the mail takes no memory. */
function* piecesOf({ head, line, tail = '' }: BigMail): Generator<Buffer> {
  const piece = Buffer.from(line.repeat(Math.floor(MEGABYTE / line.length)));
  yield Buffer.from(head);
  const count = Math.floor((BYTES - head.length - tail.length) / piece.length);
  for (let index = 0; index < count; index += 1) yield piece;
  yield Buffer.from(tail);
}

const [name = ''] = process.argv.slice(2);
const mail = mails[name];
if (!mail) throw new Error(`no such mail: ${name}`);
const home = await mkdtemp(join(tmpdir(), 'carillon-home-'));
const store = createHomeStore(home);
const reader = createMailReader({
  home,
  dnsServers: ['127.0.0.1:9'],
  lookUpMs: 1,
  // The machine may be busy with other tests.
  limitMs: 60_000,
  log: pino({ level: 'silent' }),
});
const stored = await Promise.all(
  Array.from({ length: COPIES }, async () => {
    const rawKey = newBlobKey('inbox', 1);
    const { size } = await store.putStream(rawKey, piecesOf(mail) as unknown as AsyncIterable<Buffer>, {
      maxBytes: BYTES,
    });
    return { rawKey, size };
  }),
);
const session = {
  accountId: 1,
  envelopeFrom: 'ada@example.com',
  recipient: 'a@example.org',
  ip: null,
  helo: null,
};
const read = await Promise.all(stored.map((blob) => reader.read(Object.assign({}, session, blob))));
const [first] = read;
console.log(
  JSON.stringify({
    peakMb: await peakMb(),
    suspicion: first?.suspicion ?? null,
    truncated: first?.truncated,
    attachments: first?.attachments.map(({ size }) => size),
  }),
);
await reader.close();
await rm(home, { recursive: true });
