// Mail in any language carries two valid DKIM signatures, and is repeated byte for byte.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { authenticate } from 'mailauth';
import {
  createDkimSigner,
  type DkimKey,
  dkimRecord,
  generateDkimKey,
} from '../../../src/delivery/content/dkim/sign.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { insertAccount, queueEmails, statusCounts } from '../../support/queued.ts';
import {
  startSmtpServer,
  startTestSender,
  type TestSender,
  type TestSmtpServer,
} from '../../support/sending.ts';

let test: TestDatabase;
let server: TestSmtpServer;
let sender: TestSender;
let keys: DkimKey[];

beforeAll(async () => {
  test = await createTestDatabase();
  server = await startSmtpServer();
  keys = [
    await generateDkimKey({ domain: 'mail.test', selector: 'crl-rsa', algorithm: 'rsa' }),
    await generateDkimKey({ domain: 'mail.test', selector: 'crl-ed', algorithm: 'ed25519' }),
  ];
  sender = await startTestSender({ url: test.url, port: server.port, signers: keys.map(createDkimSigner) });
});
afterAll(async () => {
  await sender.stop();
  await server.stop();
  await test.drop();
});

function resolve(name: string, type: string): Promise<string[][]> {
  const record = keys.map(dkimRecord).find((each) => each.name === name);
  if (type === 'TXT' && record) return Promise.resolve([[record.value]]);
  return Promise.reject(Object.assign(new Error('no such record'), { code: 'ENOTFOUND' }));
}

it('signs mail with both keys so that both signatures are valid in any language', async () => {
  const account = await insertAccount(test.database);
  const subjects = [
    'Hello',
    'Grüße aus Köln – 你好 🎉',
    `long ${'wort '.repeat(150)}`,
    '.leading dot',
    'עברית',
  ];
  const ids = await queueEmails(test.database, account, 0);
  for (const subject of subjects) {
    const [id] = await queueEmails(test.database, account, 1);
    ids.push(id ?? 0);
    const text = `From the start\n.\n..two dots\n${subject}\n`;
    await test.database.pool.query('update messages set subject = $2 where id = $1', [id, subject]);
    await test.database.pool.query('update message_contents set text = $2 where message_id = $1', [id, text]);
  }
  await eventually(async () => expect(await statusCounts(test.database)).toEqual({ sent: subjects.length }));
  for (const mail of server.received) {
    const { dkim } = await authenticate(Buffer.from(mail.raw), {
      ip: '127.0.0.1',
      sender: mail.from,
      resolver: resolve,
      disableArc: true,
      disableBimi: true,
      disableDmarc: true,
    });
    expect(dkim.results.map((each) => each.status.result)).toEqual(['pass', 'pass']);
  }
});

it('repeats the same mail byte for byte', async () => {
  server.received.length = 0;
  const account = await insertAccount(test.database);
  const [id] = await queueEmails(test.database, account, 1);
  await eventually(() => expect(server.received).toHaveLength(1));
  await eventually(async () =>
    expect(await statusCounts(test.database, account.accountId)).toEqual({ sent: 1 }),
  );
  await test.database.pool.query(`update messages set status = 'unknown' where id = $1`, [id]);
  await test.database.pool.query(
    `insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, attempt_count)
     values ($1, $2, 'email', 0, now(), now(), 1)`,
    [id, account.accountId],
  );
  await eventually(() => expect(server.received).toHaveLength(2));
  expect(server.received[1]?.raw).toBe(server.received[0]?.raw);
});
