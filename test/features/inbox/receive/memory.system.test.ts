// The mail role takes five mails of 25 MB at once, and reads them, with less than 400 MB of memory.
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { claimPort } from '../../../../src/local/machine/ports.ts';
import { type Measured, startRole } from '../../../bench/programs.ts';
import { createTestTenant, TEST_SECRET } from '../../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { startDnsServer, type TestDnsServer } from '../../../support/dns/server.ts';
import { insertVerifiedDomain } from '../../../support/domains.ts';
import { eventually } from '../../../support/eventually.ts';
import { deliver } from '../../../support/inbound.ts';
import { allowInboxes, insertInbox } from '../../../support/inboxes.ts';
import { createOpenFolder } from '../../../support/open-folder.ts';

const MIB = 1024 * 1024;
const MAILS = 5;
/** Two of these, in base64, are a mail of 24.6 MiB. The listener takes 25 MiB. */
const ATTACHMENT_BYTES = 9 * MIB;
const MAX_PEAK_MB = 400;
const START_LIMIT_MS = 30_000;
const READ_LIMIT_MS = 40_000;
const INBOX = 'support@acme.example';

let test: TestDatabase;
let dns: TestDnsServer;
let home: string;
let role: Measured;
let port: number;

beforeAll(async () => {
  test = await createTestDatabase();
  const tenant = await createTestTenant(test.database, 'Acme');
  await allowInboxes(test.database, tenant.accountId);
  await insertVerifiedDomain(test.database, tenant, 'acme.example');
  await insertInbox(test.database, tenant, INBOX);
  dns = await startDnsServer();
  home = createOpenFolder('carillon-mail-memory-');
  port = await claimPort(0, 'MAIL_PORT');
  role = startRole('mail', {
    APP_SECRET: TEST_SECRET,
    CARILLON_HOME: home,
    DATABASE_URL: test.url,
    DNS_SERVERS: dns.address,
    EMAIL_PROVIDER_URL: 'capture:',
    MAIL_DOMAIN: 'mail.test',
    MAIL_PORT: String(port),
    OPS_PORT: '0',
    TEMPORAL_ADDRESS: '127.0.0.1:1',
  });
  await eventually(
    async () => expect(await deliver(port, { to: 'postmaster@mail.test', data: 'x' })).toBe('250 2.0.0'),
    START_LIMIT_MS,
  );
}, START_LIMIT_MS + 5_000);
afterAll(async () => {
  await role.stop();
  dns.close();
  await test.drop();
  rmSync(home, { recursive: true, force: true });
});

function bigMail(n: number): Buffer {
  const lines = randomBytes(ATTACHMENT_BYTES).toString('base64').replaceAll(/.{76}/g, '$&\r\n');
  const part = (name: string) => [
    '--b',
    `Content-Type: application/octet-stream; name=${name}`,
    `Content-Disposition: attachment; filename=${name}`,
    'Content-Transfer-Encoding: base64',
    '',
    lines,
  ];
  return Buffer.from(
    [
      'From: Ann <ann@example.net>',
      `To: <${INBOX}>`,
      `Subject: Big ${n}`,
      `Message-ID: <big-${n}@example.net>`,
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/plain; charset=utf-8',
      '',
      `See the attachments of mail ${n}.`,
      ...part('one.bin'),
      ...part('two.bin'),
      '--b--',
      '',
    ].join('\r\n'),
  );
}

interface ArrivedRow {
  subject: string;
  text: string;
  arrived: boolean;
  attachments: number[];
}

async function arrivedMails(): Promise<ArrivedRow[]> {
  const { rows } = await test.database.pool.query<ArrivedRow>(
    `select subject, text, arrived_at is not null as arrived,
       array(select size from conversation_attachments a where a.conversation_message_id = m.id order by a.id)
         as attachments
     from conversation_messages m order by subject`,
  );
  return rows;
}

it(
  'five mails of 25 MB at once are accepted, read and stored with little memory',
  async () => {
    const mails = Array.from({ length: MAILS }, (_each, n) => bigMail(n));
    const replies = await Promise.all(
      mails.map((data) => deliver(port, { to: INBOX, from: 'ann@example.net', data })),
    );
    expect(replies).toEqual(mails.map(() => '250 2.0.0'));
    await eventually(
      async () =>
        expect(await arrivedMails()).toEqual(
          mails.map((_mail, n) => ({
            subject: `Big ${n}`,
            text: expect.stringContaining(`See the attachments of mail ${n}.`),
            arrived: true,
            attachments: [ATTACHMENT_BYTES, ATTACHMENT_BYTES],
          })),
        ),
      READ_LIMIT_MS,
    );
    const { peakMemoryMb } = role.usage();
    expect(peakMemoryMb).toBeGreaterThan(0);
    expect(peakMemoryMb).toBeLessThan(MAX_PEAK_MB);
  },
  READ_LIMIT_MS + 10_000,
);
