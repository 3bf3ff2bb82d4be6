// One activity of the recovery ends after 25 seconds and 100 attempts, or after two minutes at the latest.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { startReceiver, type Receiver } from '../../support/https-receiver.ts';
import { createTestRecovery } from '../../support/webhook-recovery.ts';
import { addWebhook, publishSent } from '../../support/webhooks.ts';

let test: TestDatabase;
let tenant: TestTenant;
let receiver: Receiver;

beforeAll(async () => {
  test = await createTestDatabase();
  tenant = await createTestTenant(test.database, 'Busy');
  receiver = await startReceiver({ answer: (_request, response) => void response.writeHead(500).end() });
}, 60_000);
afterAll(async () => {
  await receiver.close();
  await test.drop();
});

/**
 * Runs one activity with `due` due retries.
 * @param waveSeconds how long each group of 16 takes
 * @returns the attempts made
 */
async function runStay(due: number, waveSeconds: number): Promise<number> {
  const { id } = await addWebhook(test.database, tenant, receiver.url('/hook', '127.0.0.1'));
  await publishSent(
    test.database,
    tenant,
    Array.from({ length: due }, (_each, n) => n + 1),
  );
  await test.database.pool.query(
    `update webhook_deliveries set status = 'retrying', attempt_count = 1, next_attempt_at = now() where webhook_id = $1`,
    [id],
  );
  let elapsedMs = -waveSeconds * 1_000;
  const recovery = createTestRecovery(test.database, () => (elapsedMs += waveSeconds * 1_000));
  try {
    return await recovery.goRound(id);
  } finally {
    await recovery.close();
  }
}

describe('an activity of the recovery with many due retries', () => {
  it('ends after 25 seconds, so that the workflow shows its progress', async () => {
    // The clock is read once before the first wave.
    expect(await runStay(200, 4)).toBe(7 * 16);
  });

  it('continues until it has made a hundred attempts', async () => {
    expect(await runStay(200, 6)).toBe(7 * 16);
    expect(await runStay(90, 8)).toBe(90);
  });

  it('ends after two minutes at the latest', async () => {
    expect(await runStay(90, 40)).toBe(3 * 16);
  });
});
