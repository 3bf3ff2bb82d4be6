// A webhook delivery whose event was removed fails without an attempt.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { startReceiver, type Receiver } from '../../support/https-receiver.ts';
import { createTestRecovery } from '../../support/webhook-recovery.ts';
import { addWebhook, deliveriesOf, publishSent, startWebhookLoop } from '../../support/webhooks.ts';

let test: TestDatabase;
let tenant: TestTenant;
let receiver: Receiver;

beforeAll(async () => {
  test = await createTestDatabase();
  tenant = await createTestTenant(test.database, 'Forgetful');
  receiver = await startReceiver();
});
afterAll(async () => {
  await receiver.close();
  await test.drop();
});
beforeEach(async () => {
  receiver.requests.length = 0;
  await test.database.pool.query('delete from webhooks; delete from webhook_queue; delete from events');
});

/** Creates a webhook with deliveries of two events, and removes the first event. */
async function createWithOneEventGone(): Promise<number> {
  const { id } = await addWebhook(test.database, tenant, receiver.url('/hook', '127.0.0.1'));
  await publishSent(test.database, tenant, [1]);
  await test.database.pool.query('delete from events');
  await publishSent(test.database, tenant, [2]);
  return id;
}

const gone = { status: 'failed', last_error: 'event_gone', next_attempt_at: null };

describe('a webhook delivery whose event was removed', () => {
  it('fails without a first attempt', async () => {
    const id = await createWithOneEventGone();
    const running = await startWebhookLoop(test.database);
    try {
      await eventually(async () => {
        expect((await test.database.pool.query('select 1 from webhook_queue')).rowCount).toBe(0);
      });
    } finally {
      await running.stop();
    }
    expect(await deliveriesOf(test.database, id)).toMatchObject([
      { ...gone, attempt_count: 0 },
      { status: 'delivered' },
    ]);
    expect(receiver.requests).toHaveLength(1);
  });

  it('fails without a retry', async () => {
    const id = await createWithOneEventGone();
    await test.database.pool.query(
      `update webhook_deliveries set status = 'retrying', attempt_count = 1, next_attempt_at = now() where webhook_id = $1`,
      [id],
    );
    const recovery = createTestRecovery(test.database);
    expect(await recovery.goRound(id)).toBe(1);
    expect(await deliveriesOf(test.database, id)).toMatchObject([
      { ...gone, attempt_count: 1 },
      { status: 'delivered', attempt_count: 2 },
    ]);
    expect(await recovery.goRound(id)).toBe(0);
    await recovery.close();
  });
});
