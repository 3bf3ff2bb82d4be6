// The workflow of a bulk action waits for its turn, retries failing activities, and reports a final failure to the client.
import { expect, it } from '@jest/globals';
import { ApplicationFailure } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { createRecipientFence } from '../../src/delivery/ledger/consent/recipient-fence.ts';
import { fail } from '../../src/features/bulk-actions/model.ts';
import { advanceBulkAction } from '../../src/features/bulk-actions/run.ts';
import { installRuntime } from '../../src/platform/temporal/worker.ts';
import {
  type BulkActionActivities,
  bulkActionSignals,
  bulkActionWorkflowId,
} from '../../workflows/bulk-actions/contract.ts';
import { createTestTenant, type TestTenant } from '../support/api.ts';
import { insertContacts } from '../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sharedWorkflowBundle } from '../support/engine.ts';
import { testsThatNeed } from '../support/tests-that-need.ts';
import { createTimeSkippingEnvironment } from '../support/time-skipping.ts';
import { testKeyring } from '../support/webhooks.ts';

const { afterAll, beforeAll, beforeEach, describe } = testsThatNeed('time-skipping server');

const turn = { progress: () => undefined, stopping: new AbortController().signal };

let env: TestWorkflowEnvironment;
let db: TestDatabase;
let tenant: TestTenant;
let advances = 0;

const query = (text: string, values: unknown[] = []) => db.database.pool.query<{ id: number }>(text, values);

async function addAction(status = 'queued'): Promise<number> {
  const { rows } = await query(
    `insert into bulk_actions (account_id, brand_id, action, filter, pinned, dry_run, status)
     values ($1, $2, 'unsubscribe', '{"all": true}', '{"sets":[],"segments":{},"listIds":[]}', false, $3) returning id`,
    [tenant.accountId, tenant.brandId, status],
  );
  return rows[0]?.id ?? 0;
}

/** The activities with the real database. */
function realActivities(): BulkActionActivities {
  const { pool } = db.database;
  const consent = { keyring: testKeyring, plusAddresses: false };
  const deps = { pool, consent, fence: createRecipientFence(pool) };
  return {
    async advanceBulkAction(id) {
      advances += 1;
      return advanceBulkAction(deps, id, turn);
    },
    failBulkAction: (id) => fail(pool, id, 'internal_error'),
  };
}

async function withWorkers<T>(replaced: Partial<BulkActionActivities>, work: () => Promise<T>): Promise<T> {
  const options = { connection: env.nativeConnection, activities: { ...realActivities(), ...replaced } };
  const workflowBundle = await sharedWorkflowBundle();
  const workers = [
    await Worker.create({ ...options, taskQueue: 'orchestration', workflowBundle }),
    await Worker.create({ ...options, taskQueue: 'bulk' }),
  ];
  const running = workers.map((worker) => worker.run());
  try {
    return await work();
  } finally {
    for (const worker of workers) worker.shutdown();
    await Promise.all(running);
  }
}

const start = (id: number) =>
  env.client.workflow.start('runBulkAction', {
    workflowId: bulkActionWorkflowId(id),
    taskQueue: 'orchestration',
    args: [{ schema: 1, bulkActionId: id }],
  });

const stateOf = async (id: number) =>
  (await query('select status, error from bulk_actions where id = $1', [id])).rows[0];

beforeAll(async () => {
  installRuntime(pino({ level: 'silent' }));
  [env, db] = await Promise.all([createTimeSkippingEnvironment(), createTestDatabase()]);
}, 120_000);
beforeEach(async () => {
  tenant = await createTestTenant(db.database, 'Bulk');
  advances = 0;
});
afterAll(async () => {
  await env.teardown();
  await db.drop();
});

describe('the workflow of a bulk action', () => {
  it('changes all contacts, and returns its counts', async () => {
    await insertContacts(db.database.pool, tenant, 7);
    const id = await addAction();
    const result: unknown = await withWorkers({}, async () => (await start(id)).result());
    const counts = { totalCount: 7, processedCount: 7, changedCount: 7, failedCount: 0 };
    expect(result).toEqual({ phase: 'done', status: 'completed', ...counts });
  }, 60_000);

  it('looks again every 15 seconds while the account has an earlier one, and ends when it is canceled', async () => {
    await addAction('running');
    const id = await addAction();
    await withWorkers({}, async () => {
      const handle = await start(id);
      await env.sleep('5 minutes');
      expect(advances).toBeGreaterThanOrEqual(19);
      await query(`update bulk_actions set status = 'canceled', finished_at = now() where id = $1`, [id]);
      await handle.signal(bulkActionSignals.wake);
      expect(await handle.result()).toMatchObject({ phase: 'done', status: 'canceled' });
    });
  }, 60_000);

  it('ends with an error that the client sees after a final failure of an activity', async () => {
    const id = await addAction();
    const broken = async () => {
      throw ApplicationFailure.nonRetryable('the code is wrong');
    };
    await withWorkers({ advanceBulkAction: broken }, async () => (await start(id)).result());
    expect(await stateOf(id)).toEqual({ status: 'failed', error: 'internal_error' });
  }, 60_000);
});
