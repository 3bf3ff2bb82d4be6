// The sender sends messages that are slow to compose after the others of their batch.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
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
beforeAll(async () => {
  test = await createTestDatabase();
  server = await startSmtpServer();
  sender = await startTestSender({ url: test.url, port: server.port, connections: 1 });
});
afterAll(async () => {
  await sender.stop();
  await server.stop();
  await test.drop();
});

it('sends the other messages of a batch before those that are slow to compose', async () => {
  sender.sender.setMode('paused');
  const account = await insertAccount(test.database);
  const ids = await queueEmails(test.database, account, 10);
  const change = (id: number | undefined, column: string, value: unknown) =>
    test.database.pool.query(`update message_contents set ${column} = $2 where message_id = $1`, [id, value]);
  const headers = Array.from({ length: 50 }, (_, index) => [`X-${index}`, `a${' '.repeat(9_990)}b`]);
  await change(ids[0], 'headers', Object.fromEntries(headers));
  await change(ids[1], 'text', null);
  await change(ids[1], 'html', '<p>Grüße <b>'.repeat(5_000));
  await change(ids[2], 'headers', { 'X-SMTPAPI': '{}', 'X-A': 'x'.repeat(20_000) });
  sender.sender.setMode('running');

  await eventually(async () =>
    expect(await statusCounts(test.database, account.accountId)).toEqual({ sent: 9, failed: 1 }),
  );
  const arrived = server.received.map((mail) => mail.to);
  const expected = [3, 4, 5, 6, 7, 8, 9, 0, 1].map((number) => `u${number}@example.com`);
  expect(arrived).toEqual(expected);
  const { rows } = await test.database.pool.query('select failure from messages where id = $1', [ids[2]]);
  expect(rows[0]).toMatchObject({ failure: { code: 'content_rejected' } });
  const html = server.received.find((mail) => mail.to === 'u1@example.com')?.raw ?? '';
  expect(html).toContain('multipart/alternative');
});
