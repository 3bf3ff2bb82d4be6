// A recovery that is woken hundreds of times continues as new, and keeps its state and search attributes.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startReceiver, type Receiver } from '../../support/https-receiver.ts';
import { startRecoveryStage, useSharedEngine, type RecoveryStage } from '../../support/recovery-stage.ts';
import { addWebhook, deliveriesOf } from '../../support/webhooks.ts';

// No retry comes due while the test runs.
const schedule = [3_600];

let stage: RecoveryStage;
let receiver: Receiver;

beforeAll(async () => {
  stage = await startRecoveryStage(schedule, useSharedEngine);
  receiver = await startReceiver();
}, 120_000);
afterAll(async () => {
  await receiver.close();
  await stage.stop();
});

/** Wakes the webhook's recovery until its run is used up and another run continues it. */
async function wakeUntilContinued(webhookId: number): Promise<void> {
  const handle = stage.handle(webhookId);
  const { runId } = await handle.describe();
  for (let current = runId; current === runId; current = (await handle.describe()).runId) {
    await handle.signal('wake');
    // A run cannot end while signals arrive. The run answers a query after it has handled the signal.
    await handle.query('state');
  }
}

describe('the recovery of a webhook that is woken hundreds of times', () => {
  it('continues as new with its state and search attributes', async () => {
    const { id } = await addWebhook(stage.test.database, stage.tenant, receiver.url('/hook', '127.0.0.1'));
    await stage.attempt(id, false);
    await stage.asleep(id);
    await wakeUntilContinued(id);
    expect((await stage.handle(id).describe()).searchAttributes).toMatchObject({
      AccountId: [String(stage.tenant.accountId)],
      BrandId: [String(stage.tenant.brandId)],
      WebhookId: [String(id)],
    });
    expect(await stage.asleep(id)).toMatchObject({ retrying: 1, phase: 'sleeping' });
    await stage.handle(id).signal('retryNow');
    await stage.handle(id).result();
    expect(await deliveriesOf(stage.test.database, id)).toMatchObject([
      { status: 'delivered', attempt_count: 2 },
    ]);
  }, 340_000);
});
