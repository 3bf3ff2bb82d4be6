// No mail crashes the process or holds its event loop, however broken: each is read, or unreadable with a reason.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ReadMail } from '../../../../src/features/inbox/mail/mail.ts';
import { clientMail, mailClients } from '../../../support/client-mail.ts';
import { startMailReader, type TestMailReader } from '../../../support/mail-reader.ts';

const MAILS = 10_000;
const AT_ONCE = 8;
const SEED = 20_260_310;
const MINUTE = 60_000;
/** The machine runs other tests, so the loop may also be late for their sake. */
const SLACK_MS = 50;
const MAX_HOLD_MS = 50;

/** A small generator of pseudo-random numbers (mulberry32), so that a failure can be repeated. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

type Random = ReturnType<typeof createRandom>;

const tokens = [
  '\r\n', '\n', '\r', '\0', '--b\r\n', '--b--\r\n', '\r\n\r\n', ';', '"', '<', '>', '(', '=?utf-8?B?', '?=', '=\r\n', '=ZZ',
  'Content-Type: multipart/mixed; boundary=b\r\n', 'Content-Type: message/rfc822\r\n\r\n', 'Content-Type: text/html; charset=utf-7\r\n',
  'Content-Transfer-Encoding: base64\r\n', 'Content-Transfer-Encoding: quoted-printable\r\n', 'Content-Transfer-Encoding: x-uuencode\r\n',
  'Content-Type: text/plain; charset=iso-2022-jp\r\n', "Content-Disposition: attachment; filename*0*=utf-8''%E2%80; filename*1=x\r\n",
  'DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=s; h=from; bh=eA==; b=eA==\r\n', 'ARC-Seal: i=1; cv=none\r\n',
  'From: a@b.c, "x\r\n', 'Message-ID: <<>>\r\n', 'References: <a> <b <c>\r\n', '\u202e', '\ud83d', '\xff\xfe', 'A'.repeat(2_000),
]; // prettier-ignore

function mutate(raw: Buffer, random: Random): Buffer {
  let bytes = raw;
  for (let changes = 1 + random(12); changes > 0; changes -= 1) {
    const at = random(bytes.length + 1);
    const length = random(4) === 0 ? random(400) : 0;
    const token = tokens[random(tokens.length)] ?? '';
    const kinds = [
      () => Buffer.from(token, random(2) === 0 ? 'utf8' : 'latin1'),
      () => Buffer.from([random(256), random(256)]),
      () => bytes.subarray(at, at + random(600)),
    ];
    const inserted = kinds[random(kinds.length)]?.() ?? Buffer.alloc(0);
    bytes = Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at + length)]);
  }
  return bytes;
}

const HEAD = 'From: ada@example.com\r\nSubject: x\r\n';
const bombs = [
  `${HEAD}${Array.from({ length: 200 }, (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`).join('')}`,
  `${HEAD}Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\nx\r\n'.repeat(10_000)}--b--`,
  `${HEAD}${'X: y\r\n'.repeat(50_000)}\r\n`,
  `${HEAD}X: ${'y\r\n '.repeat(200_000)}\r\n\r\n`,
  `${HEAD}To: ${'a@b.c, '.repeat(30_000)}\r\n\r\n`,
  `${HEAD}To: ${'"('.repeat(60_000)}\r\n\r\n`,
  `${HEAD}To: ${'g: '.repeat(60_000)};\r\n\r\n`,
  `${HEAD}Content-Type: text/plain; ${"a*0*=''x; ".repeat(20_000)}\r\n\r\nx`,
  `${HEAD}Subject: ${'=?utf-8?Q?x?= '.repeat(15_000)}\r\n\r\nx`,
  `${HEAD}Content-Type: text/html\r\n\r\n${'<div>'.repeat(40_000)}`,
  `${HEAD}\r\n${'\n'.repeat(3_000_000)}`,
  '',
  '\r\n',
  '\0'.repeat(10_000),
].map((text) => Buffer.from(text, 'latin1'));

let reader: TestMailReader;
beforeAll(async () => {
  reader = await startMailReader();
});
afterAll(() => reader.close());

function fault(mail: ReadMail): string | null {
  const texts = [
    mail.text,
    mail.html,
    mail.subject,
    mail.from,
    ...mail.to,
    ...mail.attachments.map(({ filename }) => filename),
  ];
  if (texts.some((text) => text !== null && (text.includes('\0') || !text.isWellFormed())))
    return 'a text cannot be stored';
  if (mail.suspicion !== null && mail.suspicion.detail === '') return 'it has no reason';
  return mail.digest?.length === 0 ? 'its digest is empty' : null;
}

/** Reads all mails, a few at a time. */
async function readAll(count: number, mailAt: (index: number) => Buffer): Promise<Map<string, number>> {
  const outcomes = new Map<string, number>();
  let next = 0;
  const work = async () => {
    while (next < count) {
      const index = next++;
      const raw = mailAt(index);
      const mail = await reader.read(raw);
      const outcome = fault(mail) ?? mail.suspicion?.detail ?? 'read';
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      await reader.store.remove(mail.attachments[0]?.storageKey ?? `inbox/1/${'0'.repeat(32)}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return outcomes;
}

/** The 99.9th percentile of how late the event loop is during some work, in ms. */
async function latenessMs(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await work();
  delay.disable();
  return delay.percentile(99.9) / 1e6;
}

describe('fuzzed mails', () => {
  it(
    'are all read, or unreadable with a reason, and the event loop goes on',
    async () => {
      const random = createRandom(SEED);
      const templates = mailClients.map((client) => clientMail(client));
      const plain = templates[0] ?? Buffer.alloc(0);
      const baseline = await latenessMs(() => readAll(1_000, () => plain));
      let outcomes = new Map<string, number>();
      const late = await latenessMs(async () => {
        outcomes = await readAll(MAILS, () => mutate(templates[random(templates.length)] ?? plain, random));
      });
      expect([...outcomes.values()].reduce((sum, count) => sum + count, 0)).toBe(MAILS);
      expect([...outcomes.keys()]).not.toContain('a text cannot be stored');
      expect([...outcomes.keys()]).not.toContain('its digest is empty');
      // Most are still mails, so the test reaches deeper than the first check.
      expect(outcomes.get('read')).toBeGreaterThan(MAILS / 2);
      expect(late).toBeLessThan(baseline + SLACK_MS);
    },
    10 * MINUTE,
  );

  it(
    'that are made to take long hold up neither the event loop nor a thread for ever',
    async () => {
      await reader.read(clientMail('gmail'));
      const outcomes: string[] = [];
      for (const raw of bombs) {
        const before = process.threadCpuUsage();
        const mail = await reader.read(raw);
        const used = process.threadCpuUsage(before);
        outcomes.push(fault(mail) ?? mail.suspicion?.detail ?? 'read');
        // However busy the machine is, the main thread cannot have held its loop for longer than it worked.
        expect((used.user + used.system) / 1_000).toBeLessThan(MAX_HOLD_MS);
      }
      expect(outcomes).toEqual([
        'parts are nested more than 100 levels deep',
        'the mail has more than 1,000 parts',
        'a header has more than 1,000 fields',
        'a field has more than 32 KB',
        'a field has more than 32 KB',
        'a field has more than 32 KB',
        'a field has more than 32 KB',
        'a field has more than 32 KB',
        'a field has more than 32 KB',
        'read',
        'the mail has more than 1,000,000 lines',
        'the field From does not have authors of one domain',
        'the field From does not have authors of one domain',
        'the field From does not have authors of one domain',
      ]);
    },
    5 * MINUTE,
  );
});
