// An idle sender that gets no wake-ups finds new messages, and claims that it does not know, by its pulse alone.
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { insertAccount, queueEmails, type QueuedAccount } from '../../support/queued.ts';
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
let sender: TestSender;

beforeEach(async () => {
  test = await createTestDatabase();
  account = await insertAccount(test.database);
  server = await startSmtpServer();
  sender = await startTestSender({ url: test.url, port: server.port });
});
afterEach(async () => {
  await sender.stop();
  await server.stop();
  await test.drop();
});

/** Queues a message that seems to have an owner, so that the wake-up for it finds nothing. */
async function queueOwned(owner: number): Promise<number> {
  const { pool } = test.database;
  await pool.query(
    `create function own() returns trigger language plpgsql as $$
       begin new.owner := ${owner}; new.claim_epoch := 1; return new; end $$`,
  );
  await pool.query('create trigger own before insert on send_queue for each row execute function own()');
  const [id = 0] = await queueEmails(test.database, account, 1);
  await pool.query('drop function own cascade');
  return id;
}

/** Longer than the pause between two polls of a loop that is not idle yet. */
const IDLE_MS = 2_500;

/** Resolves when the sender polls no more. Only its walk over the queue reads campaigns. */
async function untilIdle(): Promise<void> {
  let last = { walks: -1, at: 0 };
  await eventually(async () => {
    const { rows } = await test.database.pool.query<{ walks: number }>(
      `select (seq_scan + idx_scan)::int as walks from pg_stat_user_tables where relname = 'campaigns'`,
    );
    const { walks = 0 } = rows[0] ?? {};
    if (walks !== last.walks) last = { walks, at: performance.now() };
    expect(performance.now() - last.at).toBeGreaterThan(IDLE_MS);
  });
}

it('sends a message without a wake-up', async () => {
  await queueEmails(test.database, account, 1);
  await receivedAtLeast(server, 1);
  const id = await queueOwned((sender.process.id() ?? 0) + 1);
  await untilIdle();
  await test.database.pool.query('update send_queue set owner = null where message_id = $1', [id]);
  await receivedAtLeast(server, 2);
});

it('gives back a claim whose response was lost, and sends its message', async () => {
  await queueOwned(sender.process.id() ?? 0);
  await receivedAtLeast(server, 1);
});
