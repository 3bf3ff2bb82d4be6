// An activity that was delayed by an outage works with the time at which it runs.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import pino from 'pino';
import { createFlowActivities } from '../../activities/flows.ts';
import { loadConfig } from '../../src/config.ts';
import { createTrackedEventConsumers } from '../../src/features/events.ts';
import { createResolver } from '../../src/platform/dns/resolver.ts';
import { TEST_SECRET } from '../support/api.ts';
import { insertContacts } from '../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { insertFlow, insertRun, runRow } from '../support/flow-runs.ts';
import { insertAccount, type QueuedAccount } from '../support/queued.ts';
import { testKeyring } from '../support/webhooks.ts';

const HOUR_MS = 3_600_000;

let test: TestDatabase;
let account: QueuedAccount;

beforeAll(async () => {
  test = await createTestDatabase();
  account = await insertAccount(test.database);
});
afterAll(() => test.drop());

it('does not text in quiet hours what was due before them', async () => {
  const { pool } = test.database;
  await pool.query('update brands set quiet_hours = $2 where id = $1', [
    account.brandId,
    JSON.stringify({ start: '22:00', end: '08:00', timezone: 'UTC' }),
  ]);
  const waker = { wake: () => undefined };
  const { advanceRun } = createFlowActivities({
    config: loadConfig({ APP_SECRET: TEST_SECRET, DATABASE_URL: test.url, MAIL_DOMAIN: 'mail.test' }),
    database: test.database,
    ...{ waker, keyring: testKeyring, resolver: createResolver([]), log: pino({ level: 'silent' }) },
    trackedEventConsumers: createTrackedEventConsumers({ waker }),
  });
  const flow = await insertFlow(pool, account, { steps: [{ type: 'sms', id: 1, template_id: 1 }] });
  const [contactId = 0] = await insertContacts(pool, account, 1);
  const run = await insertRun(pool, account, flow, contactId, { asOf: new Date('2026-03-10T21:20:00Z') });
  const environment = new MockActivityEnvironment(
    { scheduledTimestampMs: Date.now() - HOUR_MS },
    { logger: new DefaultLogger('ERROR', () => undefined) },
  );
  await environment.run(advanceRun, run, '2026-03-10T21:30:00Z', account.accountId);
  expect(await runRow(pool, run)).toMatchObject({
    waits_for: 'quiet_hours',
    due_at: new Date('2026-03-11T08:00:00Z'),
  });
});
