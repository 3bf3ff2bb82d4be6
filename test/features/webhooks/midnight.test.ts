// Each event of a day without a partition is delivered once while several processes create that partition.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { upkeep } from '../../../src/features/upkeep.ts';
import { keepPartitionsOf } from '../../../src/platform/db/partitions.ts';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { startReceiver, type Receiver } from '../../support/https-receiver.ts';
import { addWebhook, deliveriesOf, publishSent, startWebhookLoop } from '../../support/webhooks.ts';

const tables = ['events', 'webhook_deliveries', 'webhook_attempts'];
let test: TestDatabase;
let tenant: TestTenant;
let receiver: Receiver;

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 12 });
  tenant = await createTestTenant(test.database, 'Night owl');
  receiver = await startReceiver();
});
afterAll(async () => {
  await receiver.close();
  await test.drop();
});

/** Leaves the tables in the state they have after two weeks without new partitions. */
async function dropPartitions(): Promise<void> {
  for (const table of tables) {
    const { rows } = await test.database.pool.query<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits
       where inhparent = $1::regclass and inhrelid::regclass::text !~ '_default$'`,
      [table],
    );
    for (const { name } of rows) await test.database.pool.query(`drop table ${name}`);
  }
}

async function caughtByDefault(table: string): Promise<number | null> {
  return (await test.database.pool.query(`select 1 from ${table}_default`)).rowCount;
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last + 1 - first }, (_each, index) => first + index);
}

it('delivers each event of a day without a partition once, while its partition is being made', async () => {
  await dropPartitions();
  const { id } = await addWebhook(test.database, tenant, receiver.url('/hook', '127.0.0.1'));
  await publishSent(test.database, tenant, range(1, 300));
  for (const table of ['events', 'webhook_deliveries']) expect(await caughtByDefault(table)).toBe(300);

  // The loop makes partitions when it starts; other processes do the same at the same time.
  const running = await startWebhookLoop(test.database);
  const making = Promise.all(range(1, 3).map(() => keepPartitionsOf(test.database.pool, upkeep.partitions)));
  try {
    for (const first of range(0, 29).map((n) => 301 + n * 10)) {
      await publishSent(test.database, tenant, range(first, first + 9));
    }
    await making;
    const rows = await eventually(async () => {
      const found = await deliveriesOf(test.database, id);
      expect(found.filter(({ status }) => status === 'delivered')).toHaveLength(600);
      return found;
    });
    expect(rows).toHaveLength(600);
    expect(receiver.requests).toHaveLength(600);
    for (const table of tables) expect(await caughtByDefault(table)).toBe(0);
    const { rowCount: attempts } = await test.database.pool.query('select 1 from webhook_attempts');
    expect(attempts).toBe(600);
  } finally {
    await running.stop();
  }
}, 60_000);
