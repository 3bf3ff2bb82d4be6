// A message that ends its connection twice is deferred and retried alone, while others are sent at once.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ProviderChannel } from '../../../src/delivery/sender/compose/provider-channel.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import {
  insertAccount,
  makeAllDue,
  queueEmails,
  type QueuedAccount,
  statusCounts,
} from '../../support/queued.ts';
import {
  receivedAtLeast,
  startSmtpServer,
  startTestSender,
  testEmailChannel,
  type TestSender,
  type TestSmtpServer,
} from '../../support/sending.ts';

const POISON = 'poison0@example.com';
/** A body that is still under way when the server ends the connection. */
const LARGE = 'x'.repeat(70).concat('\r\n').repeat(60_000);

let test: TestDatabase;
let server: TestSmtpServer;
let account: QueuedAccount;
let other: QueuedAccount;
let sender: TestSender | null = null;
/** The recipients of each batch, in the order in which they were handed over. */
let batches: string[][];

beforeEach(async () => {
  test = await createTestDatabase({ poolMax: 4 });
  server = await startSmtpServer();
  account = await insertAccount(test.database);
  other = await insertAccount(test.database);
  batches = [];
});

afterEach(async () => {
  await sender?.stop();
  sender = null;
  await server.crash();
  await test.drop();
});

async function start(connections: number): Promise<TestSender> {
  const channel = testEmailChannel({ port: server.port, connections });
  const observed: ProviderChannel = {
    ...channel,
    handOver(batch) {
      batches.push(batch.map(({ to }) => to));
      return channel.handOver(batch);
    },
  };
  sender = await startTestSender({ url: test.url, port: server.port, channel: observed });
  return sender;
}

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  test.database.pool.query<Row>(text, values).then((result) => result.rows);

const untilCounts = (expected: Record<string, number>, accountId?: number) =>
  eventually(async () => expect(await statusCounts(test.database, accountId)).toEqual(expected));

const attemptsOf = (accountId: number) =>
  query<{ attempt_count: number }>('select distinct attempt_count from messages where account_id = $1', [
    accountId,
  ]);

/** The queue row of the poison message, once it waits for its retry. */
async function untilDeferred(attempts: number): Promise<void> {
  await eventually(async () => {
    const [row] = await query<{ wait: number; attempt_count: number }>(
      `select extract(epoch from due_at - now())::int as wait, q.attempt_count
       from send_queue q join messages m on m.id = message_id where to_address = $1 and owner is null`,
      [POISON],
    );
    expect(row?.attempt_count).toBe(attempts);
    expect(row?.wait).toBeGreaterThan(30);
  });
}

const batchesOfPoison = () => batches.filter((batch) => batch.includes(POISON));

describe.each(['rcpt', 'body'] as const)('a message at whose %s the server ends the connection', (stage) => {
  beforeEach(async () => {
    server.answers.drop = (at, address) => at === stage && address === POISON;
    await queueEmails(test.database, account, 1, { prefix: 'poison' });
    await query('update message_contents set text = $1', [LARGE]);
  });

  it('is deferred the second time, while others are sent at once', async () => {
    await queueEmails(test.database, account, 20, { prefix: 'same' });
    await queueEmails(test.database, other, 20, { prefix: 'other' });
    const { sender: loop } = await start(1);
    await untilCounts({ sent: 20 }, other.accountId);
    await untilCounts({ sent: 20, queued: 1 }, account.accountId);
    await untilDeferred(1);
    expect(await query('select attempt, type from message_events where type <> $1', ['sent'])).toEqual([
      { attempt: 1, type: 'deferred' },
    ]);
    expect(await attemptsOf(other.accountId)).toEqual([{ attempt_count: 1 }]);
    expect(server.received).toHaveLength(40);
    expect(loop.report().providers['email:smtp']?.state).toBe('closed');
    // Together with others at first, and alone from then on.
    expect(batchesOfPoison().map(({ length }) => length > 1)).toEqual([true, false]);
  });

  it('is retried alone, and is sent once the server takes it', async () => {
    await start(1);
    await untilDeferred(1);
    await makeAllDue(test.database);
    await queueEmails(test.database, account, 20, { prefix: 'same' });
    await untilDeferred(2);
    await untilCounts({ sent: 20, queued: 1 });
    delete server.answers.drop;
    await makeAllDue(test.database);
    await untilCounts({ sent: 21 });
    expect(batchesOfPoison().every(({ length }) => length === 1)).toBe(true);
  });
});

describe('a relay that is restarted while it receives messages', () => {
  it('uses up no attempt and repeats no message', async () => {
    const before = server;
    // From the tenth message on it does not reply to RCPT, so that each connection is in a transfer when it ends.
    const { port } = before;
    let stuck = 0;
    await before.stop();
    server = await startSmtpServer(
      {
        onRcptTo(_address, _session, done) {
          if (server.received.length < 10) return done();
          stuck += 1;
        },
      },
      port,
    );
    await queueEmails(test.database, account, 100);
    const { sender: loop } = await start(4);
    await receivedAtLeast(server, 10);
    await eventually(() => expect(stuck).toBe(4));
    const first = server;
    await first.crash();
    await eventually(() => expect(loop.report().providers['email:smtp']?.state).not.toBe('closed'));
    server = await startSmtpServer({}, port);
    await untilCounts({ sent: 100 });
    expect(await attemptsOf(account.accountId)).toEqual([{ attempt_count: 1 }]);
    expect(await query(`select 1 from message_events where type <> 'sent'`)).toEqual([]);
    expect(first.received.length + server.received.length).toBe(100);
  });
});
