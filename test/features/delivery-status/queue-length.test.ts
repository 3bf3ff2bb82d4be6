// The delivery status counts at most 10,000 queue rows of a kind, and reads only those of the account.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { findAccountFigures } from '../../../src/features/accounts/model.ts';
import { readDeliveryStatus } from '../../../src/features/delivery-status/service.ts';
import type { Tenant } from '../../../src/platform/auth/tenant.ts';
import { type Database, openDatabase } from '../../../src/platform/db/database.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertAccount, type QueuedAccount } from '../../support/queued.ts';
import { TEST_LIMITS } from '../../support/sending.ts';

const QUEUED = 40_000;
const HELD = 100;
/** Rows read to find the backlogs of an account. */
const FEW = 10;

let test: TestDatabase;
/** One connection, so that the test reads only the statistics of its own statements. */
let one: Database;
let large: QueuedAccount;
let small: QueuedAccount;

beforeAll(async () => {
  test = await createTestDatabase();
  one = openDatabase({ url: test.url, poolMax: 1 });
  large = await insertAccount(test.database);
  small = await insertAccount(test.database);
  const queue = `insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, held)
    select $3::bigint + n, $1, 'email', 0, now() + n * interval '1 second', now(), $4 from generate_series(1, $2) n`;
  await test.database.pool.query(queue, [large.accountId, QUEUED, 0, false]);
  await test.database.pool.query(queue, [small.accountId, HELD, QUEUED, true]);
  // Letters count as other emails do.
  await test.database.pool.query(`update send_queue set channel = 'email_whole' where message_id = $1`, [
    QUEUED + 1,
  ]);
  await test.database.pool.query('analyze send_queue');
}, 60_000);
afterAll(async () => {
  await one.close();
  await test.drop();
});

async function rowsRead(): Promise<number> {
  await one.pool.query('select pg_stat_force_next_flush()');
  const { rows } = await test.database.pool.query<{ read: number }>(
    `select (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_user_tables where relname = 'send_queue'`,
  );
  return rows[0]?.read ?? 0;
}

async function statusOf({ accountId, brandId }: QueuedAccount) {
  const before = await rowsRead();
  const tenant = { accountId, brandId } as Tenant;
  const { pacing } = await readDeliveryStatus(one.pool, tenant, TEST_LIMITS, 'mail.test');
  return { pacing, read: (await rowsRead()) - before };
}

it('counts at most 10,000 waiting messages for the status', async () => {
  const { pacing, read } = await statusOf(large);
  expect(pacing).toMatchObject({ queued: 10_000, held: 0 });
  expect(pacing.next_due_at).not.toBeNull();
  expect(read).toBeLessThanOrEqual(10_000 + QUEUED + FEW);
});

it("reads no other account's messages for the status", async () => {
  const { pacing, read } = await statusOf(small);
  expect(pacing).toMatchObject({ queued: HELD, held: HELD });
  expect(read).toBeLessThanOrEqual(2 * HELD + FEW);
});

it('does not read the queue for the account', async () => {
  const before = await rowsRead();
  await findAccountFigures(one.pool, large, TEST_LIMITS);
  expect((await rowsRead()) - before).toBe(0);
});

it('counts scheduled messages apart, with the time of the first', async () => {
  const account = await insertAccount(test.database);
  await test.database.pool.query(
    `insert into send_queue (message_id, account_id, channel, class, due_at, queued_at)
     select 10 * ${QUEUED} + n, $1, 'email', 0, now() + n * interval '1 hour',
       now() + case when n > 1 then n else 0 end * interval '1 hour' from generate_series(1, 3) n`,
    [account.accountId],
  );
  const { pacing } = await statusOf(account);
  expect(pacing).toMatchObject({ queued: 1, held: 0, scheduled: 2 });
  const hoursUntil = (time: string | null) => Math.round((Date.parse(time ?? '') - Date.now()) / 3_600_000);
  expect([pacing.next_due_at, pacing.next_scheduled_at].map(hoursUntil)).toEqual([1, 2]);
});

it('counts waiting messages behind more scheduled ones than it counts', async () => {
  const account = await insertAccount(test.database);
  // An email that is held and one by another provider, both behind the scheduled ones, and an SMS.
  await test.database.pool.query(
    `insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, held, provider_id)
     select 20 * ${QUEUED} + n, $1, 'email', 0, now() + n * interval '1 minute', now() + n * interval '1 minute', false, 0
     from generate_series(1, 10000) n
     union all values
       (30 * ${QUEUED}, $1::bigint, 'email', 0, now() + interval '72 hours' + interval '1 year', now(), true, 0),
       (30 * ${QUEUED} + 1, $1, 'email', 0, now() - interval '1 hour', now() - interval '1 hour', false, 7),
       (30 * ${QUEUED} + 2, $1, 'email', 0, now() + interval '1 second', now() + interval '1 second', false, 7),
       (30 * ${QUEUED} + 3, $1, 'sms', 0, now() - interval '2 hours', now() - interval '2 hours', false, 0)`,
    [account.accountId],
  );
  const { pacing, read } = await statusOf(account);
  expect(pacing).toMatchObject({ queued: 3, held: 1, scheduled: 10_000 });
  const minutesUntil = (time: string | null) => Math.round((Date.parse(time ?? '') - Date.now()) / 60_000);
  expect([pacing.due_since, pacing.next_scheduled_at].map(minutesUntil)).toEqual([-120, 0]);
  expect(read).toBeLessThanOrEqual(20_000 + FEW);
});
