// Messages whose take was committed, but whose sender hears of it too late, are given back and sent once.
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { insertAccount, queueEmails, type QueuedAccount, statusCounts } from '../../support/queued.ts';
import {
  receivedAtLeast,
  startSmtpServer,
  startTestSender,
  type TestSender,
  type TestSmtpServer,
} from '../../support/sending.ts';

let test: TestDatabase;
let account: QueuedAccount;
let server: TestSmtpServer;
let senders: TestSender[];

beforeEach(async () => {
  test = await createTestDatabase();
  account = await insertAccount(test.database);
  server = await startSmtpServer();
  senders = [];
});
afterEach(async () => {
  await Promise.all(senders.map((sender) => sender.stop()));
  await server.stop();
  await test.drop();
});

async function start(wrapPool?: (pool: pg.Pool) => pg.Pool): Promise<TestSender> {
  const sender = await startTestSender({
    url: test.url,
    port: server.port,
    ...(wrapPool ? { wrapPool } : {}),
  });
  senders.push(sender);
  return sender;
}

const isTake = (query: unknown) =>
  (query as { text?: string }).text?.includes('take_plain_messages') === true;

/** A pool that returns the first response to a take, or throws it away, only when `released` resolves. */
const holdingFirstTake =
  (released: Promise<void>, outcome: 'arrives' | 'is lost') =>
  (pool: pg.Pool): pg.Pool => {
    let takes = 0;
    const query = async (...args: unknown[]) => {
      const result: unknown = await (pool.query as (...given: unknown[]) => unknown)(...args);
      if (isTake(args[0]) && ++takes === 1) {
        await released;
        if (outcome === 'is lost') throw new Error('Connection terminated unexpectedly');
      }
      return result;
    };
    return new Proxy(pool, {
      get: (target, key) => {
        const value: unknown = key === 'query' ? query : Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  };

const rowsOf = async (sql: string) => (await test.database.pool.query<Record<string, unknown>>(sql)).rows;

it.each(['arrives', 'is lost'] as const)(
  'gives back what was taken if the response %s after another sender has sent it',
  async (outcome) => {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const late = await start(holdingFirstTake(released, outcome));
    const owner = late.process.id();
    await queueEmails(test.database, account, 1);
    await eventually(async () => expect(await rowsOf('select owner from handovers')).toEqual([{ owner }]));
    const other = await start();
    await receivedAtLeast(server, 1);
    await eventually(async () => expect(await statusCounts(test.database)).toEqual({ sent: 1 }));

    release();
    await eventually(async () => expect(await rowsOf('select 1 from handovers')).toEqual([]));
    await other.stop();
    senders.splice(senders.indexOf(other), 1);
    await queueEmails(test.database, account, 1, { prefix: 'next' });
    await eventually(async () => expect(await statusCounts(test.database)).toEqual({ sent: 2 }));
    expect(server.received).toHaveLength(2);
    expect(await rowsOf('select 1 from send_queue union all select 1 from handovers')).toEqual([]);
  },
);
