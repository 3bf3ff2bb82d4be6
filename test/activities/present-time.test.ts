// An activity that was delayed by an outage works with the time at which it runs.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Info } from '@temporalio/activity';
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

interface Given {
  info: Partial<Info>;
  /** The workflow's time at the call. */
  asOf: Date;
  quietHours: { start: string; end: string };
}

let contacts = 0;

/** Advances a run that is about to send an SMS. @returns its row */
async function advance({ info, asOf, quietHours }: Given) {
  const { pool } = test.database;
  await pool.query('update brands set quiet_hours = $2 where id = $1', [
    account.brandId,
    JSON.stringify({ ...quietHours, timezone: 'UTC' }),
  ]);
  const waker = { wake: () => undefined };
  const { advanceRun } = createFlowActivities({
    config: loadConfig({ APP_SECRET: TEST_SECRET, DATABASE_URL: test.url, MAIL_DOMAIN: 'mail.test' }),
    database: test.database,
    ...{ waker, keyring: testKeyring, resolver: createResolver([]), log: pino({ level: 'silent' }) },
    trackedEventConsumers: createTrackedEventConsumers({ waker }),
  });
  const flow = await insertFlow(pool, account, { steps: [{ type: 'sms', id: 1, template_id: 1 }] });
  const [contactId = 0] = await insertContacts(pool, account, 1, `contact${(contacts += 1)}`);
  const run = await insertRun(pool, account, flow, contactId, { asOf });
  const logger = new DefaultLogger('ERROR', () => undefined);
  await new MockActivityEnvironment(info, { logger }).run(
    advanceRun,
    run,
    asOf.toISOString(),
    account.accountId,
  );
  return runRow(pool, run);
}

describe('does not text in quiet hours what was due before them', () => {
  it('if the activity waited for a worker, or failed', async () => {
    const row = await advance({
      info: { scheduledTimestampMs: Date.now() - HOUR_MS },
      asOf: new Date('2026-03-10T21:30:00Z'),
      quietHours: { start: '22:00', end: '08:00' },
    });
    expect(row).toMatchObject({ waits_for: 'quiet_hours', due_at: new Date('2026-03-11T08:00:00Z') });
  });

  it('if a local activity was scheduled again after a timer of the engine', async () => {
    const now = Date.now();
    const clock = (ms: number) => new Date(ms).toISOString().slice(11, 16);
    const row = await advance({
      info: { isLocal: true, attempt: 6, scheduledTimestampMs: now },
      asOf: new Date(now - HOUR_MS),
      quietHours: { start: clock(now - HOUR_MS / 2), end: clock(now + HOUR_MS) },
    });
    expect(row).toMatchObject({ waits_for: 'quiet_hours' });
  });
});
