// A message that an earlier attempt may have sent ends as unknown, unless the provider refuses it for good.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { queueEmails } from '../../support/queued.ts';
import {
  startSmtpServer,
  startTestSender,
  type TestSender,
  type TestSmtpServer,
} from '../../support/sending.ts';
import { addWebhook } from '../../support/webhooks.ts';

let test: TestDatabase;
let server: TestSmtpServer;
let tenant: TestTenant;
let sender: TestSender | undefined;

beforeEach(async () => {
  test = await createTestDatabase({ poolMax: 4 });
  server = await startSmtpServer();
  tenant = await createTestTenant(test.database, 'Acme');
  await addWebhook(test.database, tenant, 'https://hooks.example.test', ['email.failed', 'email.sent']);
});

afterEach(async () => {
  await sender?.stop();
  sender = undefined;
  await server.stop();
  await test.drop();
});

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  test.database.pool.query<Row>(text, values).then((result) => result.rows);

/** Queues a message whose first of five attempts has an unknown outcome. */
async function queueUncertain(queuedHoursAgo: number): Promise<void> {
  const [id] = await queueEmails(test.database, tenant, 1, { queuedHoursAgo });
  await query(`update messages set status = 'unknown', attempt_count = 5 where id = $1`, [id]);
  await query('update send_queue set attempt_count = 5 where message_id = $1', [id]);
  await query(`insert into message_events (message_id, attempt, type) values ($1, 1, 'unknown')`, [id]);
}

/** Waits until the message has left the queue. */
async function outcome() {
  sender = await startTestSender({ url: test.url, port: server.port });
  await eventually(async () => expect(await query('select 1 from send_queue')).toEqual([]));
  const messages = await query('select status, failure from messages');
  return { message: messages[0], published: await query('select type from events') };
}

const reason = (code: string) => ({
  code,
  message: expect.stringMatching(/^an earlier attempt may have sent it; ./),
});

describe('a message with an earlier attempt whose outcome is unknown', () => {
  it('ends as unknown after 72 hours, and email.failed is not sent', async () => {
    await queueUncertain(73);
    const { message, published } = await outcome();
    expect(message).toEqual({ status: 'unknown', failure: reason('expired') });
    expect(published).toEqual([]);
    expect(server.received).toEqual([]);
  });

  it('ends as unknown after temporary refusals for 72 hours', async () => {
    server.answers.rcpt = () => '451 4.7.1 greylisted';
    await queueUncertain(71);
    const { message, published } = await outcome();
    expect(message).toEqual({ status: 'unknown', failure: reason('expired') });
    expect(published).toEqual([]);
  });

  it('ends as unknown if its address has been suppressed since', async () => {
    await queueUncertain(1);
    await query(
      `insert into suppressions (account_id, address_key, email, reason) values ($1, 'u0@example.com', 'u0@example.com', 'manual')`,
      [tenant.accountId],
    );
    const { message, published } = await outcome();
    expect(message).toEqual({ status: 'unknown', failure: reason('suppressed') });
    expect(published).toEqual([]);
  });

  it('fails, with its event, if the provider refuses it for good', async () => {
    server.answers.rcpt = () => '554 5.0.0 no';
    await queueUncertain(1);
    const { message, published } = await outcome();
    expect(message).toMatchObject({ status: 'failed', failure: { code: 'rejected' } });
    expect(published).toEqual([{ type: 'email.failed' }]);
  });

  it('is sent again if nothing prevents it', async () => {
    await queueUncertain(1);
    const { message, published } = await outcome();
    expect(message).toEqual({ status: 'sent', failure: null });
    expect(published).toEqual([{ type: 'email.sent' }]);
  });
});
