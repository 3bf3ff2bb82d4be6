// The snapshot of a campaign sends heartbeats while its evaluation waits for a turn, and yields after its stay.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DefaultLogger } from '@temporalio/worker';
import { MockActivityEnvironment } from '@temporalio/testing';
import pino from 'pino';
import { createCampaignActivities } from '../../activities/campaigns.ts';
import { loadConfig } from '../../src/config.ts';
import { type Evaluations, openEvaluations } from '../../src/features/campaigns/run/evaluations.ts';
import type { CampaignStep } from '../../workflows/campaigns/contract.ts';
import { TEST_SECRET } from '../support/api.ts';
import { insertSentCampaign } from '../support/campaign-runs.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { testEvents } from '../support/events.ts';
import { insertAccount } from '../support/queued.ts';

let db: TestDatabase;
let evaluations: Evaluations;
beforeAll(async () => {
  db = await createTestDatabase({ poolMax: 2 });
  evaluations = openEvaluations({ url: db.url });
});
afterAll(async () => {
  await evaluations.close();
  await db.drop();
});

it('an evaluation that waits for another one of its account', async () => {
  const { snapshotCampaign } = createCampaignActivities({
    config: loadConfig({ APP_SECRET: TEST_SECRET, DATABASE_URL: db.url, MAIL_DOMAIN: 'mail.test' }),
    database: db.database,
    evaluations,
    waker: { wake: () => undefined },
    events: testEvents,
    log: pino({ level: 'silent' }),
    stopping: new AbortController().signal,
  });
  const account = await insertAccount(db.database);
  const id = await insertSentCampaign(db.database.pool, account, {
    audience: { segmentId: 1, filters: [{ name: 'event.bought', predicate: 'did' }] },
    phase: 'snapshot',
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  const signal = new AbortController().signal;
  const other = evaluations.run(account.accountId, () => promise, signal);
  const environment = new MockActivityEnvironment(
    {},
    { logger: new DefaultLogger('ERROR', () => undefined) },
  );
  let heartbeats = 0;
  environment.on('heartbeat', () => void (heartbeats += 1));
  const step: CampaignStep = await environment.run(snapshotCampaign, id, new Date().toISOString(), 8_000);
  expect(step.next).toBe('snapshot');
  expect(heartbeats).toBeGreaterThan(0);
  resolve();
  await other;
});
