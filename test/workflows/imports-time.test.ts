// The import workflow waits for its turn, ends when canceled, and keeps its counts when it continues as new.
import { expect, it } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { advanceImport } from '../../src/features/imports/run.ts';
import type { Import } from '../../src/features/imports/schema.ts';
import { installRuntime } from '../../src/platform/temporal/worker.ts';
import {
  importQueries,
  importSignals,
  type ImportState,
  importWorkflowId,
} from '../../workflows/imports/contract.ts';
import { type TestApi, startTestApi } from '../support/api.ts';
import { sharedWorkflowBundle } from '../support/engine.ts';
import { attendance, importDeps, postImport } from '../support/imports.ts';
import { testsThatNeed } from '../support/tests-that-need.ts';
import { createTimeSkippingEnvironment } from '../support/time-skipping.ts';

const { afterAll, beforeAll, beforeEach, describe } = testsThatNeed('time-skipping server');

let env: TestWorkflowEnvironment;
let api: TestApi;
let steps: string[] = [];

const query = (text: string, values: unknown[] = []) => api.database.pool.query(text, values);
const statusOf = async (id: number) => (await api.request<Import>('GET', `/v1/my/imports/${id}`)).body.status;

/** Runs the workflow with the given step; by default that of the product. */
async function withWorkers<T>(
  work: () => Promise<T>,
  step = (id: number): Promise<ImportState> => advanceImport(importDeps(api), id, attendance),
): Promise<T> {
  const activities = {
    async advanceImport(id: number) {
      const state = await step(id);
      steps.push(state.phase);
      return state;
    },
  };
  const options = { connection: env.nativeConnection, activities };
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
  env.client.workflow.start('runImport', {
    workflowId: importWorkflowId(id),
    taskQueue: 'orchestration',
    args: [{ schema: 1, importId: id, accountId: api.accountId }],
  });

/** Posts an import while as many others of the account run as may. */
async function addWaiting(): Promise<{ id: number; others: number[] }> {
  const others: number[] = [];
  for (let n = 0; n < 2; n += 1) {
    const { body } = await postImport(api, { file: 'email\nother@example.com\n' });
    await query(`update imports set status = 'processing' where id = $1`, [body.id]);
    others.push(body.id);
  }
  return { id: (await postImport(api, { file: 'email\nada@example.com\n' })).body.id, others };
}

beforeAll(async () => {
  installRuntime(pino({ level: 'silent' }));
  [env, api] = await Promise.all([createTimeSkippingEnvironment(), startTestApi()]);
}, 120_000);
beforeEach(async () => {
  steps = [];
  await query('truncate contacts, imports cascade');
});
afterAll(async () => {
  await env.teardown();
  await api.close();
});

describe('the workflow of an import', () => {
  it('looks again every 15 seconds while two others of the account run, and then imports', async () => {
    const { id, others } = await addWaiting();
    await withWorkers(async () => {
      const handle = await start(id);
      await env.sleep('5 minutes');
      expect(new Set(steps)).toEqual(new Set(['waiting']));
      expect(steps.length).toBeGreaterThanOrEqual(19);
      expect(steps.length).toBeLessThanOrEqual(22);
      await query(`update imports set status = 'completed' where id = any($1)`, [others]);
      expect(await handle.result()).toMatchObject({
        phase: 'done',
        status: 'completed',
        totalRows: 1,
        createdCount: 1,
      });
    });
    expect(await statusOf(id)).toBe('completed');
    expect((await query('select 1 from contacts')).rowCount).toBe(1);
    expect(steps.slice(-1)).toEqual(['done']);
  }, 60_000);

  it('ends at once when it is canceled while it waits', async () => {
    const { id } = await addWaiting();
    await withWorkers(async () => {
      const handle = await start(id);
      await env.sleep('20 seconds');
      const before = steps.length;
      expect((await api.request('POST', `/v1/my/imports/${id}/cancel`)).status).toBe(200);
      await handle.signal(importSignals.wake);
      await handle.result();
      expect(steps.slice(before)).toEqual(['done']);
    });
    expect(await statusOf(id)).toBe('canceled');
    expect((await query('select storage_key from imports where id = $1', [id])).rows).toEqual([
      { storage_key: null },
    ]);
  }, 60_000);

  it('continues as new before its history is long, with the counts in its query', async () => {
    let done = 0;
    const state = (phase: ImportState['phase']): ImportState => ({
      ...{ phase, totalRows: 400, createdCount: done, updatedCount: 0 },
      ...{ unchangedCount: 0, duplicateCount: 0, failedCount: 0 },
    });
    const step = async () => state((done += 1) < 400 ? 'importing' : 'done');
    await withWorkers(async () => {
      const first = await start(77);
      await first.result();
      const last = env.client.workflow.getHandle(importWorkflowId(77));
      expect((await last.describe()).runId).not.toBe(first.firstExecutionRunId);
      expect(await last.query<ImportState>(importQueries.state)).toEqual(state('done'));
      const { events } = await env.client.workflow
        .getHandle(importWorkflowId(77), first.firstExecutionRunId)
        .fetchHistory();
      expect(events?.length).toBeLessThan(5_000);
    }, step);
    expect(done).toBe(400);
  }, 120_000);
});
