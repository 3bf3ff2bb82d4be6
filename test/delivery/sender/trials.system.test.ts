// Messages that make the server end connections delay the mail of other accounts only by seconds.
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { insertAccount, queueEmails, type QueuedAccount, statusCounts } from '../../support/queued.ts';
import {
  startSmtpServer,
  startTestSender,
  type TestSender,
  type TestSmtpServer,
} from '../../support/sending.ts';

/** On a fast machine, these take a few seconds and half a minute. */
const MAX_MAIL_MS = 60_000;
const MAX_DEFERRAL_MS = 180_000;

let test: TestDatabase;
let server: TestSmtpServer;
let poisoner: QueuedAccount;
let other: QueuedAccount;
let sender: TestSender | null = null;

beforeEach(async () => {
  test = await createTestDatabase({ poolMax: 4 });
  server = await startSmtpServer();
  poisoner = await insertAccount(test.database);
  other = await insertAccount(test.database);
});

afterEach(async () => {
  await sender?.stop();
  sender = null;
  await server.crash();
  await test.drop();
});

const isPoison = (address: string) => address.startsWith('poison');

/** How many of the poison messages have been tried and wait for their next attempt. */
async function deferredPoison(): Promise<number> {
  const { rows } = await test.database.pool.query<{ count: number }>(
    'select count(*)::int as count from send_queue where account_id = $1 and attempt_count > 0 and owner is null',
    [poisoner.accountId],
  );
  return rows[0]?.count ?? 0;
}

const faults = [
  {
    fault: 'the server drops the connection',
    poison: 150,
    set: () => (server.answers.drop = (stage, address) => stage === 'rcpt' && isPoison(address)),
  },
  {
    fault: 'the server replies 421 to the content',
    poison: 60,
    set: () => (server.answers.body = ({ to }) => (isPoison(to) ? '421 4.3.2 Closing' : null)),
  },
];

it.each(faults)(
  'sends the mail of other accounts within seconds even if $fault at each message of one account',
  async ({ poison, set }) => {
    set();
    await queueEmails(test.database, poisoner, poison, { prefix: 'poison' });
    await queueEmails(test.database, other, 300, { prefix: 'other' });
    sender = await startTestSender({
      url: test.url,
      port: server.port,
      connections: 4,
      firstBackoffMs: 1_000,
    });
    await eventually(
      async () => expect(await statusCounts(test.database, other.accountId)).toEqual({ sent: 300 }),
      MAX_MAIL_MS,
    );
    // The other account continues to send, as accounts do.
    let posted = 300;
    for (const end = Date.now() + MAX_DEFERRAL_MS; (await deferredPoison()) < poison && Date.now() < end;) {
      posted += (await queueEmails(test.database, other, 2, { prefix: `later${posted}-` })).length;
      await delay(200);
    }
    expect(await deferredPoison()).toBe(poison);
    await eventually(
      async () => expect(await statusCounts(test.database, other.accountId)).toEqual({ sent: posted }),
      MAX_MAIL_MS,
    );
  },
  MAX_DEFERRAL_MS + 3 * MAX_MAIL_MS,
);
