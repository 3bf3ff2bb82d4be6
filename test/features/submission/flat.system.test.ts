// The submission role accepts forty mails of 25 MB at once with less than 400 MB of memory.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { claimPort } from '../../../src/local/machine/ports.ts';
import { type Measured, startRole } from '../../bench/programs.ts';
import { createTestTenant, TEST_SECRET, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertVerifiedDomain } from '../../support/domains.ts';
import { eventually } from '../../support/eventually.ts';
import { createOpenFolder } from '../../support/open-folder.ts';
import { startTlsDialogue } from '../../support/smtp-dialogue.ts';
import { certificates, logIn } from '../../support/submission.ts';

const MIB = 1024 * 1024;
const isFull = process.env['CRASH_FULL'] !== undefined;
const MAILS = isFull ? 40 : 10;
/** Two of these, in base64, are a mail of 24.6 MiB. The port takes 25 MiB. */
const FILE_BYTES = 9 * MIB;
const MAX_PEAK_MB = isFull ? 400 : 350;
const START_LIMIT_MS = 30_000;
const LIMIT_MS = 120_000;

let test: TestDatabase;
let tenant: TestTenant;
let home: string;
let role: Measured;
let port: number;

beforeAll(async () => {
  test = await createTestDatabase();
  tenant = await createTestTenant(test.database, 'Acme');
  await insertVerifiedDomain(test.database, tenant, 'acme.example');
  home = createOpenFolder('carillon-submission-memory-');
  port = await claimPort(0, 'SUBMISSION_TLS_PORTS');
  role = startRole('submission', {
    APP_SECRET: TEST_SECRET,
    CARILLON_HOME: home,
    DATABASE_URL: test.url,
    EMAIL_PROVIDER_URL: 'capture:',
    MAIL_DOMAIN: 'mail.test',
    OPS_PORT: '0',
    SUBMISSION_PORTS: 'none',
    SUBMISSION_TLS_PORTS: String(port),
    SUBMISSION_TLS_CERT_FILE: certificates.first.cert,
    SUBMISSION_TLS_KEY_FILE: certificates.first.key,
    TEMPORAL_ADDRESS: '127.0.0.1:1',
  });
  await eventually(async () => {
    const client = await startTlsDialogue(port);
    client.socket.destroy();
  }, START_LIMIT_MS);
}, START_LIMIT_MS + 5_000);
afterAll(async () => {
  await role.stop();
  await test.drop();
  rmSync(home, { recursive: true, force: true });
});

const FILE = randomBytes(FILE_BYTES - 3)
  .toString('base64')
  .replaceAll(/.{76}/g, '$&\r\n');

/** In pieces, of which the mails share the large ones. Each file is another, so that each is stored. */
function* bigMail(n: number): Generator<string> {
  yield `From: Ann <ann@acme.example>\r\nTo: bob@example.net\r\nSubject: Big ${n}\r\nMIME-Version: 1.0\r\n`;
  yield `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nTwo files.\r\n`;
  for (const name of ['1', '2']) {
    yield `--b\r\nContent-Type: application/octet-stream; name=${name}.bin\r\nContent-Transfer-Encoding: base64\r\n\r\n`;
    yield `${Buffer.from(`${String(n).padStart(2, '0')}${name}`).toString('base64')}\r\n`;
    for (let at = 0; at < FILE.length; at += MIB) yield FILE.slice(at, at + MIB);
    yield '\r\n';
  }
  yield '--b--\r\n.\r\n';
}

async function submit(n: number): Promise<string> {
  const client = await startTlsDialogue(port);
  expect(await logIn(client, tenant.apiKey)).toMatch(/^235 /);
  for (const command of ['MAIL FROM:<ann@acme.example>', 'RCPT TO:<bob@example.net>', 'DATA'])
    expect(await client.say(command)).toMatch(/^[23]5/);
  for (const piece of bigMail(n)) if (!client.socket.write(piece)) await once(client.socket, 'drain');
  const reply = await client.reply();
  client.socket.destroy();
  return reply;
}

/** What has been stored: the sizes of the files of each mail. */
async function storedMails(): Promise<{ subject: string; sizes: number[] }[]> {
  const { rows } = await test.database.pool.query<{ subject: string; sizes: number[] }>(
    `select m.subject, array(select f.size from message_attachments a join attachment_files f
       on f.account_id = a.account_id and f.sha256 = a.sha256 where a.message_id = m.id order by a.n) as sizes
     from messages m order by m.id`,
  );
  return rows;
}

const spooled = () => readdir(join(home, 'blobs', 'submissions', String(tenant.accountId)));

it(
  'many mails of 25 MB at once are read and stored with little memory',
  async () => {
    const ns = Array.from({ length: MAILS }, (_each, n) => n);
    const replies = await Promise.all(ns.map(submit));
    expect(replies).toEqual(ns.map(() => expect.stringMatching(/^250 2\.0\.0 queued as \d+$/)));
    expect((await storedMails()).map(({ sizes }) => sizes)).toEqual(ns.map(() => [FILE_BYTES, FILE_BYTES]));
    await eventually(async () => expect(await spooled()).toEqual([]));
    const { peakMemoryMb } = role.usage();
    expect(peakMemoryMb).toBeGreaterThan(0);
    expect(peakMemoryMb).toBeLessThan(MAX_PEAK_MB);
  },
  LIMIT_MS,
);
