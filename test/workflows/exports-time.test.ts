// The export workflow waits for its turn, retries failing activities, and reports a final failure to the client.
import { expect, it } from '@jest/globals';
import { ApplicationFailure } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { createExportWriter } from '../../src/features/exports/service.ts';
import { installRuntime } from '../../src/platform/temporal/worker.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';
import { exportSignals, exportWorkflowId, type ExportActivities } from '../../workflows/exports/contract.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sharedWorkflowBundle } from '../support/engine.ts';
import { testsThatNeed } from '../support/tests-that-need.ts';
import { createTimeSkippingEnvironment } from '../support/time-skipping.ts';

const { afterAll, beforeAll, beforeEach, describe } = testsThatNeed('time-skipping server');

const turn = { progress: () => undefined, stopping: new AbortController().signal };

let env: TestWorkflowEnvironment;
let db: TestDatabase;
let accountId = 0;
let begins = 0;

const query = (text: string, values: unknown[] = []) => db.database.pool.query<{ id: number }>(text, values);

async function addExport(status = 'queued'): Promise<number> {
  const { rows } = await query(
    `insert into exports (account_id, brand_id, resource, status) values ($1, 1, 'suppressions', $2) returning id`,
    [accountId, status],
  );
  return rows[0]?.id ?? 0;
}

/** The activities with the real database. */
function realActivities(): ExportActivities {
  const store = createHomeStore('/nonexistent');
  const writer = createExportWriter({ pool: db.database.pool, store, quotaBytes: 1e9 });
  return {
    async beginExport(id, asOf) {
      begins += 1;
      return writer.begin(id, new Date(asOf));
    },
    planExport: (id, asOf) => writer.plan(id, new Date(asOf), turn),
    writeExport: (id, asOf) => writer.write(id, new Date(asOf), turn),
    failExport: (id) => writer.fail(id),
  };
}

async function withWorkers<T>(replaced: Partial<ExportActivities>, work: () => Promise<T>): Promise<T> {
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
  env.client.workflow.start('runExport', {
    workflowId: exportWorkflowId(id),
    taskQueue: 'orchestration',
    args: [{ schema: 1, exportId: id }],
  });

const stateOf = async (id: number) =>
  (await query('select status, error from exports where id = $1', [id])).rows[0];

beforeAll(async () => {
  installRuntime(pino({ level: 'silent' }));
  [env, db] = await Promise.all([createTimeSkippingEnvironment(), createTestDatabase()]);
}, 120_000);
beforeEach(() => {
  accountId += 1;
  begins = 0;
});
afterAll(async () => {
  await env.teardown();
  await db.drop();
});

describe('the workflow of an export', () => {
  it('looks again every 15 seconds while the account has two others, and ends when it is canceled', async () => {
    await addExport('processing');
    await addExport('processing');
    const id = await addExport();
    await withWorkers({}, async () => {
      const handle = await start(id);
      await env.sleep('5 minutes');
      expect(begins).toBeGreaterThanOrEqual(19);
      await query(`update exports set status = 'canceled' where id = $1`, [id]);
      await handle.signal(exportSignals.wake);
      expect(await handle.result()).toMatchObject({ state: 'final', status: 'canceled' });
    });
    expect(await stateOf(id)).toEqual({ status: 'canceled', error: null });
  }, 60_000);

  it('ends with an error that the client sees after a final failure of an activity', async () => {
    const id = await addExport();
    const planExport = async () => {
      throw ApplicationFailure.nonRetryable('the code is wrong');
    };
    await withWorkers({ planExport }, async () => (await start(id)).result());
    expect(await stateOf(id)).toEqual({ status: 'failed', error: 'internal_error' });
  }, 60_000);

  it('retries a failing activity, and continues', async () => {
    const id = await addExport();
    let tries = 0;
    const planExport: ExportActivities['planExport'] = async () => {
      tries += 1;
      if (tries < 3) throw new Error('connect ECONNREFUSED');
      return { state: 'final', processedRows: 0, totalRows: null };
    };
    await withWorkers({ planExport }, async () => (await start(id)).result());
    expect(tries).toBe(3);
    expect(await stateOf(id)).toMatchObject({ error: null });
  }, 60_000);
});
