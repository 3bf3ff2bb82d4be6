// A sender that stops gives back all messages but those whose final dot is sent, and none of them arrives twice.
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import type { ContentEngine } from '../../../src/delivery/content/templates/content.ts';
import { createContentEngine } from '../../../src/delivery/content/templates/engine.ts';
import { createVersionReader } from '../../../src/delivery/content/templates/versions.ts';
import { createEmailChannel } from '../../../src/delivery/sender/email/hand-over.ts';
import { createSmtpProvider } from '../../../src/delivery/wire/providers/smtp/hand-over.ts';
import { createSharedValues } from '../../../src/delivery/sender/compose/shared-values.ts';
import { recoverDeadSender } from '../../../src/delivery/ledger/upkeep/dead-process.ts';
import { brandValues, createBrandOf } from '../../../src/features/templates/brand-parts.ts';
import { createRecipientPages } from '../../../src/features/unsubscribe/service.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { blocksOf, writeCampaign } from '../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { insertAccount, queueEmails, type QueuedAccount, statusCounts } from '../../support/queued.ts';
import {
  emailSettings,
  startSmtpServer,
  startTestSender,
  type TestSender,
  type TestSmtpServer,
} from '../../support/sending.ts';
import { testKeyring } from '../../support/webhooks.ts';

const PUBLIC_URL = 'https://app.test';
/** The size of a sender's first batch. */
const BATCH = 10;

let test: TestDatabase;
let engine: ContentEngine;
let account: QueuedAccount;
let servers: TestSmtpServer[];
let senders: TestSender[];

beforeAll(async () => {
  engine = createContentEngine({ threads: 1 });
});
afterAll(() => engine.close());

beforeEach(async () => {
  test = await createTestDatabase({ poolMax: 4 });
  account = await insertAccount(test.database);
  servers = [];
  senders = [];
});
afterEach(async () => {
  await Promise.all(servers.map((server) => server.crash()));
  await Promise.all(senders.map((sender) => sender.stop()));
  await test.drop();
});

async function startSender(server: TestSmtpServer, connections = 1): Promise<TestSender> {
  const { pool } = test.database;
  const target = { host: '127.0.0.1', port: server.port, security: 'none', clientName: 'mail.test' } as const;
  const brandOf = createBrandOf(pool, testKeyring, PUBLIC_URL);
  const contents = {
    versions: createVersionReader(pool),
    shared: createSharedValues(pool, async (scope) => brandValues(await brandOf(scope))),
    engine,
    pages: createRecipientPages(testKeyring, PUBLIC_URL),
  };
  const provider = createSmtpProvider({ target, connections });
  const channel = createEmailChannel(provider, { ...emailSettings(), contents });
  const sender = await startTestSender({ url: test.url, port: server.port, channel });
  senders.push(sender);
  return sender;
}

async function startServer(options: Parameters<typeof startSmtpServer>[0] = {}): Promise<TestSmtpServer> {
  const server = await startSmtpServer(options);
  servers.push(server);
  return server;
}

/** A server that replies to a final dot only when the test calls `reply`. */
async function startSlowServer() {
  const dots: { to: string; reply: () => void }[] = [];
  const server = await startServer({
    onData(stream: SMTPServerDataStream, session: SMTPServerSession, done: () => void) {
      stream.resume();
      stream.on('end', () => dots.push({ to: session.envelope.rcptTo[0]?.address ?? '', reply: done }));
    },
  });
  return { server, dots };
}

/** The messages of open intents, and those that wait for any sender, by the addresses of their recipients. */
async function whereabouts() {
  const { rows } = await test.database.pool.query<{
    intended: string[];
    waiting: string[];
    attempts: number;
  }>(
    `select
       (select coalesce(array_agg(m.to_address), '{}') from handovers h join messages m on m.id = any(h.message_ids)) as intended,
       (select coalesce(array_agg(m.to_address), '{}') from send_queue q join messages m on m.id = q.message_id
        where q.owner is null) as waiting,
       (select coalesce(max(attempt_count), 0) from send_queue where owner is null) as attempts`,
  );
  const [row = { intended: [], waiting: [], attempts: 0 }] = rows;
  return { intended: row.intended, waiting: new Set(row.waiting), attempts: row.attempts };
}

it('keeps only the message whose final dot is sent; another sender sends the rest meanwhile', async () => {
  await queueEmails(test.database, account, 3 * BATCH);
  const slow = await startSlowServer();
  const { sender } = await startSender(slow.server);
  await eventually(() => expect(slow.dots).toHaveLength(1));
  const stopped = sender.stop();
  const [open] = slow.dots;
  await eventually(async () => {
    const { intended, waiting, attempts } = await whereabouts();
    expect(intended).toEqual([open?.to]);
    expect(waiting.size).toBe(3 * BATCH - 1);
    expect(attempts).toBe(0);
  }, 5_000);
  const other = await startServer();
  await startSender(other, 2);
  await eventually(() => expect(other.received).toHaveLength(3 * BATCH - 1));
  expect(other.received.map(({ to }) => to)).not.toContain(open?.to);
  open?.reply();
  await stopped;
  expect(await statusCounts(test.database)).toEqual({ sent: 3 * BATCH });
  expect(slow.dots).toHaveLength(1);
});

it('gives a campaign its other recipients back at the reply, and counts each once', async () => {
  const { campaignId } = await writeCampaign(test.database, account, { recipients: 100, prefix: 'c' });
  const slow = await startSlowServer();
  const { sender } = await startSender(slow.server);
  await eventually(() => expect(slow.dots).toHaveLength(1));
  const stopped = sender.stop();
  const [open] = slow.dots;
  await eventually(async () => expect((await whereabouts()).intended).toEqual([open?.to]), 5_000);
  open?.reply();
  await stopped;
  expect(await blocksOf(test.database, campaignId)).toMatchObject([{ owner: null, closed: false }]);
  const other = await startServer();
  await startSender(other, 2);
  await eventually(async () =>
    expect(await blocksOf(test.database, campaignId)).toMatchObject([{ closed: true, reserved: 0 }]),
  );
  expect(new Set(other.received.map(({ to }) => to)).size).toBe(99);
  expect(other.received).toHaveLength(99);
  expect(other.received.map(({ to }) => to)).not.toContain(open?.to);
  expect(await statusCounts(test.database)).toEqual({ sent: 100 });
  expect(slow.dots).toHaveLength(1);
});

it('leaves only that message unknown if it is killed while it waits', async () => {
  const { campaignId } = await writeCampaign(test.database, account, { recipients: 100, prefix: 'k' });
  const slow = await startSlowServer();
  const { sender, process } = await startSender(slow.server);
  await eventually(() => expect(slow.dots).toHaveLength(1));
  const stopped = sender.stop();
  await eventually(async () => expect((await whereabouts()).intended).toHaveLength(1), 5_000);
  const id = process.id() ?? 0;
  await inTransaction(test.database.pool, (trx) => recoverDeadSender(trx, id));
  expect(await statusCounts(test.database)).toEqual({ queued: 99, unknown: 1 });
  expect(await blocksOf(test.database, campaignId)).toMatchObject([{ owner: null, closed: false }]);
  slow.dots[0]?.reply();
  await stopped;
  expect(await statusCounts(test.database)).toEqual({ queued: 99, sent: 1 });
});

it('begins no message whose 354 has not arrived', async () => {
  await queueEmails(test.database, account, BATCH);
  let asked = 0;
  const silent = await startServer({ onRcptTo: () => void (asked += 1) });
  const { sender } = await startSender(silent);
  await eventually(() => expect(asked).toBe(1));
  await sender.stop();
  const { intended, waiting, attempts } = await whereabouts();
  expect([intended, waiting.size, attempts]).toEqual([[], BATCH, 0]);
});

it('does not wait for a relay that does not greet, and does not connect again', async () => {
  await queueEmails(test.database, account, BATCH);
  let connections = 0;
  const silent = await startServer({ onConnect: () => void (connections += 1) });
  const { sender } = await startSender(silent);
  await eventually(() => expect(connections).toBe(1));
  await sender.stop();
  const { intended, waiting } = await whereabouts();
  expect([intended, waiting.size, connections]).toEqual([[], BATCH, 1]);
});
