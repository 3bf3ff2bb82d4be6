// Heavy messages of one account do not slow down the mail of another.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createPreparePool } from '../../../src/delivery/content/mime/prepare-pool.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { insertAccount, queueEmails } from '../../support/queued.ts';
import {
  receivedAtLeast,
  startSmtpServer,
  startTestSender,
  testEmailChannel,
  type TestSender,
  type TestSmtpServer,
} from '../../support/sending.ts';

const HEAVY = 400;
const ROUNDS = 5;
const PER_ROUND = 60;

let test: TestDatabase;
let server: TestSmtpServer;
let sender: TestSender | undefined;
beforeAll(async () => {
  test = await createTestDatabase();
  server = await startSmtpServer();
});
afterAll(async () => {
  await sender?.stop();
  await server.stop();
  await test.drop();
});

const arrived = (prefix: string) => server.received.filter(({ to }) => to.startsWith(prefix)).length;

it('does not slow down an account to the rate at which heavy messages of another are composed', async () => {
  const [large, small] = [await insertAccount(test.database), await insertAccount(test.database)];
  // Two threads compose these in a minute.
  await queueEmails(test.database, large, HEAVY, {
    prefix: 'heavy',
    text: (n) => `${n} ${'x'.repeat(70_000)}`,
  });
  const threads = createPreparePool({ entry: new URL('../../support/slow-thread.ts', import.meta.url) });
  const channel = testEmailChannel({ port: server.port, connections: 4, threads });
  sender = await startTestSender({ url: test.url, port: server.port, channel });
  await receivedAtLeast(server, 1);
  for (let round = 1; round <= ROUNDS; round += 1) {
    await queueEmails(test.database, small, PER_ROUND, { prefix: 'small' });
    await eventually(() => expect(arrived('small')).toBe(round * PER_ROUND), 60_000);
  }
  expect(arrived('heavy')).toBeLessThan(HEAVY / 2);
  expect(arrived('heavy')).toBeGreaterThan(1);
}, 300_000);
