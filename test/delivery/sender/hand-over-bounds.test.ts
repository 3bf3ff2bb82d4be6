// A slow relay delays no account behind another's backlog, and large messages never exceed 64 MiB at once.
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { BatchMessage } from '../../../src/delivery/ledger/intend/batch.ts';
import { MAX_BYTES_IN_HAND } from '../../../src/delivery/sender/turns/byte-budget.ts';
import type { ProviderChannel } from '../../../src/delivery/sender/compose/provider-channel.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { insertAccount, queueEmails, type QueuedAccount, statusCounts } from '../../support/queued.ts';
import {
  receivedAtLeast,
  startSmtpServer,
  startTestSender,
  testEmailChannel,
  type TestSender,
  type TestSmtpServer,
} from '../../support/sending.ts';

let test: TestDatabase;
let server: TestSmtpServer | null = null;
let account: QueuedAccount;
let sender: TestSender | null = null;

beforeEach(async () => {
  test = await createTestDatabase({ poolMax: 4 });
  account = await insertAccount(test.database);
});

afterEach(async () => {
  await sender?.stop();
  sender = null;
  await server?.stop();
  server = null;
  await test.drop();
});

describe('a relay that takes 20 ms for a message', () => {
  const MESSAGE_MS = 20;
  /** A batch of 250 ms, one more that was taken with it, and much more for a slow machine. The backlog is 1,500. */
  const MAX_BEFORE = 200;

  it('does not make an account wait for the backlog of another', async () => {
    const order: string[] = [];
    server = await startSmtpServer({
      onRcptTo(address, _session, done) {
        order.push(address.address);
        void delay(MESSAGE_MS).then(() => done());
      },
    });
    const small = await insertAccount(test.database);
    await queueEmails(test.database, account, 1_500, { prefix: 'many' });
    sender = await startTestSender({ url: test.url, port: server.port, connections: 1 });
    await receivedAtLeast(server, 60);
    const waited: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const queuedAt = order.length;
      await queueEmails(test.database, small, 1, { prefix: `one-${n}-` });
      const to = `one-${n}-0@example.com`;
      await eventually(() => expect(order).toContain(to));
      waited.push(order.indexOf(to) - queuedAt);
    }
    expect(Math.max(...waited)).toBeLessThan(MAX_BEFORE);
    expect(order.length).toBeLessThan(1_500);
  });
});

describe('messages that cannot be recorded', () => {
  const CONNECTIONS = 2;

  it('are at most 50 of each connection, which goes on until then', async () => {
    server = await startSmtpServer();
    const { port } = server;
    const intended = async () => {
      const { rows } = await test.database.pool.query<{ count: number }>(
        'select coalesce(sum(cardinality(message_ids)), 0)::int as count from handovers',
      );
      return rows[0]?.count ?? 0;
    };
    await inTransaction(test.database.pool, async (client) => {
      await client.query('lock table stat_changes in access exclusive mode');
      sender = await startTestSender({ url: test.url, port, connections: CONNECTIONS });
      for (let n = 0; n < 30; n += 1) {
        await queueEmails(test.database, account, 8, { prefix: `n${n}-` });
        expect(await intended()).toBeLessThanOrEqual(50 * CONNECTIONS);
      }
      await eventually(async () => expect(await intended()).toBeGreaterThan(50));
      await eventually(async () => expect(await intended()).toBe(server?.received.length));
      expect(await intended()).toBeLessThanOrEqual(50 * CONNECTIONS);
    });
    await eventually(async () => expect(await statusCounts(test.database)).toEqual({ sent: 240 }));
    expect(server.received).toHaveLength(240);
  });
});

/** Queues emails whose contents have this many bytes each. */
async function queueLarge(count: number, bytes: number): Promise<void> {
  await queueEmails(test.database, account, count);
  const [line, lines] = [`${'x'.repeat(62)}\r\n`, bytes / 128];
  await test.database.pool.query('update message_contents set html = repeat($1, $2), text = repeat($1, $2)', [
    line,
    lines,
  ]);
  await test.database.pool.query('update send_queue set content_bytes = $1', [bytes]);
}

describe('messages of 4 MB', () => {
  /** Half as much again as the bound. */
  const MESSAGES = 24;
  const BYTES = 4 * 1_048_576;
  const CONNECTIONS = 16;

  it('are handed over without more than 64 MiB of contents at once, 8 MiB in a batch', async () => {
    await queueLarge(MESSAGES, BYTES);
    let arrived = 0;
    server = await startSmtpServer({
      onData(stream, _session, done) {
        stream.resume();
        stream.on('end', () => {
          arrived += 1;
          done();
        });
      },
    });
    const { port } = server;
    const channel = testEmailChannel({ port, connections: CONNECTIONS });
    const bytesOf = (batch: readonly BatchMessage[]) =>
      batch.reduce((sum, { html, text }) => sum + (html?.length ?? 0) + (text?.length ?? 0), 0);
    let inHand = 0;
    let peak = 0;
    let largestBatch = 0;
    const measured: ProviderChannel = {
      ...channel,
      async handOver(batch) {
        const bytes = bytesOf(batch);
        inHand += bytes;
        peak = Math.max(peak, inHand);
        largestBatch = Math.max(largestBatch, bytes);
        const outcomes = await channel.handOver(batch);
        inHand -= bytes;
        return outcomes;
      },
    };
    sender = await startTestSender({ url: test.url, port, channel: measured });
    await eventually(
      async () => expect(await statusCounts(test.database)).toEqual({ sent: MESSAGES }),
      120_000,
    );
    expect(arrived).toBe(MESSAGES);
    expect(largestBatch).toBeLessThanOrEqual(2 * BYTES);
    expect(peak).toBeLessThanOrEqual(MAX_BYTES_IN_HAND);
    expect(peak).toBeGreaterThan(BYTES);
  }, 180_000);
});
