// A sender whose provider does not reply leaves its waiting messages to other senders, without repeats.
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { ProviderChannel } from '../../../src/delivery/sender/compose/provider-channel.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { insertAccount, queueEmails, type QueuedAccount, statusCounts } from '../../support/queued.ts';
import {
  startSmtpServer,
  startTestSender,
  testEmailChannel,
  type TestSender,
  type TestSmtpServer,
} from '../../support/sending.ts';

/** On a fast machine, it takes about three seconds. */
const MAX_MS = 60_000;

let test: TestDatabase;
let accounts: QueuedAccount[];
let servers: TestSmtpServer[];
let senders: TestSender[];

beforeEach(async () => {
  test = await createTestDatabase({ poolMax: 4 });
  accounts = [await insertAccount(test.database), await insertAccount(test.database)];
  servers = [];
  senders = [];
});

afterEach(async () => {
  // Without its server, a sender that waits for a reply can end.
  await Promise.all(servers.map((server) => server.crash()));
  await Promise.all(senders.map((sender) => sender.stop()));
  await test.drop();
});

async function start(
  connections: number,
  options: Parameters<typeof startSmtpServer>[0] = {},
): Promise<{ server: TestSmtpServer; batches: number[] }> {
  const server = await startSmtpServer(options);
  servers.push(server);
  const channel = testEmailChannel({ port: server.port, connections });
  const batches: number[] = [];
  const observed: ProviderChannel = {
    ...channel,
    handOver(batch) {
      batches.push(batch.length);
      return channel.handOver(batch);
    },
  };
  senders.push(await startTestSender({ url: test.url, port: server.port, channel: observed }));
  return { server, batches };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

it(
  'leaves its waiting messages to other senders while its provider does not reply',
  async () => {
    for (const account of accounts) await queueEmails(test.database, account, 150);
    const silent = await start(2, { onMailFrom: () => undefined });
    await eventually(() => expect(silent.batches).toHaveLength(2));
    const healthy = await start(2);
    await eventually(() => expect(healthy.server.received).toHaveLength(300 - sum(silent.batches)), MAX_MS);
    // Messages that are accepted later do not wait for the stuck sender either.
    for (const account of accounts) await queueEmails(test.database, account, 20);
    await eventually(() => expect(healthy.server.received).toHaveLength(340 - sum(silent.batches)), MAX_MS);
    expect(silent.batches).toHaveLength(2);
  },
  3 * MAX_MS,
);

it(
  'sends what it gave back when a slow provider replies after all',
  async () => {
    const [account] = accounts;
    if (!account) throw new Error('no account');
    await queueEmails(test.database, account, 60);
    let reply: (() => void) | null = null;
    const { server } = await start(1, {
      onMailFrom(_address, _session, done) {
        if (reply) return done();
        reply = done;
      },
    });
    await eventually(async () => {
      const { rows } = await test.database.pool.query(
        'select 1 from send_queue where owner is null and claim_epoch > 0',
      );
      expect(rows.length).toBeGreaterThan(0);
    }, MAX_MS);
    (reply as (() => void) | null)?.();
    await eventually(async () => expect(await statusCounts(test.database)).toEqual({ sent: 60 }), MAX_MS);
    expect(server.received).toHaveLength(60);
  },
  3 * MAX_MS,
);
