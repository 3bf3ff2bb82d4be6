// Worker and sender start, run and stop without the engine, and continue when it returns, even without its data.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { loadConfig, type Config } from '../../src/config.ts';
import { flowRunStart } from '../../src/features/flows/workflow.ts';
import { upkeep } from '../../src/features/upkeep.ts';
import { registerProcess, type LiveProcess } from '../../src/platform/processes/process.ts';
import { callEngine, openEngine, type Engine } from '../../src/platform/temporal/connection.ts';
import { searchAttributeNames } from '../../src/platform/temporal/contract.ts';
import { startWorkflow } from '../../src/platform/temporal/start.ts';
import { run } from '../../src/roles/worker.ts';
import type { FlowCohortState } from '../../workflows/flows/contract.ts';
import { laneWorkflowId } from '../../workflows/lanes/contract.ts';
import { createOwnEngine, type OwnEngine } from '../platform/outbox/own-engine.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { insertContacts } from '../support/contacts.ts';
import { insertCohort, type TestCohort } from '../support/flow-cohorts.ts';
import { insertFlow } from '../support/flow-runs.ts';
import { insertAccount } from '../support/queued.ts';
import { attachLoops, createTestLoop, type TestLoop } from '../workflows/test-loop.ts';
import { until } from '../workflows/until.ts';

let db: TestDatabase;
let own: OwnEngine;
let config: Config;
let engine: Engine;
let worker: { stop(): Promise<void> };
let attachment: { stop(): Promise<void> };
let live: LiveProcess;
let loop: TestLoop;
/** Its runs wait for a day. */
let cohort: TestCohort;

async function prepared(): Promise<boolean> {
  const { connection, schedule } = engine.client;
  return callEngine(engine.client, async () => {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({
      namespace: 'default',
    });
    await schedule.getHandle('housekeeping').describe();
    return searchAttributeNames.every((name) => name in customAttributes);
  });
}

async function laneReports(): Promise<boolean> {
  const handle = engine.client.workflow.getHandle(laneWorkflowId('send', 1));
  const report = await callEngine(engine.client, () => handle.query<{ processId: number } | null>('report'));
  return report?.processId === live.id();
}

async function cohortState(): Promise<string | undefined> {
  const handle = engine.client.workflow.getHandle(cohort.workflowId);
  return (await callEngine(engine.client, () => handle.query<FlowCohortState | null>('state')))?.sentence;
}

beforeAll(async () => {
  db = await createTestDatabase({ poolMax: 10 });
  const account = await insertAccount(db.database);
  const { pool } = db.database;
  const flow = await insertFlow(pool, account, { steps: [{ type: 'wait', id: 1, duration: 86_400 }] });
  cohort = await insertCohort(pool, account, flow, await insertContacts(pool, account, 3));
  own = await createOwnEngine();
  config = loadConfig({
    TEMPORAL_ADDRESS: own.address,
    DATABASE_URL: db.url,
    APP_SECRET: 'for tests only but long enough anyway',
    LOG_LEVEL: 'silent',
    SHUTDOWN_GRACE_SECONDS: '5',
  });
  engine = openEngine(config);
  live = await registerProcess({ url: db.url }, 'sender', upkeep.processWork);
  loop = createTestLoop('send', live.id() ?? 0);
}, 120_000);

afterAll(async () => {
  await live.close();
  await engine.close();
  await own.close();
  await db.drop();
});

describe('worker and sender', () => {
  it('start while the engine is unavailable', async () => {
    const log = pino({ level: 'silent' });
    worker = await run(config);
    attachment = await attachLoops({ config, database: db.database, loops: [loop], log });
  });

  it('prepare the engine and show the lane as soon as it is available', async () => {
    await own.start();
    await until(prepared, 90_000);
    await until(laneReports, 90_000);
  }, 200_000);

  it('continue after the engine restarts', async () => {
    await own.stop();
    await own.start();
    await until(laneReports, 30_000);
    await engine.client.workflow.getHandle(laneWorkflowId('send', 1)).signal('pause');
    await until(() => loop.report().mode === 'paused', 30_000);
  }, 90_000);

  it('prepare an engine that lost its data, and keep the lane paused', async () => {
    // An engine that is lost before it is known is like the first one.
    const isKnown = async () => (await db.database.pool.query('select from engine_state')).rowCount === 1;
    await until(isKnown, 40_000);
    await own.stop();
    await own.forget();
    await own.start();
    await until(prepared, 40_000);
    await until(laneReports, 30_000);
    const handle = engine.client.workflow.getHandle(laneWorkflowId('send', 1));
    expect(await handle.query('state')).toMatchObject({ mode: 'paused', report: { mode: 'paused' } });
  }, 90_000);

  it('start the clock of a cohort again, whose runs then continue', async () => {
    await until(async () => /: 3 runs; 3 wait until /.test((await cohortState()) ?? ''), 40_000);
  }, 60_000);

  it('run housekeeping when its Schedule fires', async () => {
    await engine.client.schedule.getHandle('housekeeping').trigger();
    const result = await until(async () => {
      for await (const found of engine.client.workflow.list({ query: `WorkflowType = 'housekeeping'` })) {
        if (found.status.name !== 'COMPLETED') continue;
        return (await engine.client.workflow.getHandle(found.workflowId).result()) as object;
      }
      return false;
    }, 60_000);
    expect(result).toMatchObject({ idempotency_keys: { rows: 0 } });
    expect(JSON.stringify(result)).not.toContain('"error":');
  }, 60_000);

  it('serve runs of flows from their own queue, and from the one that they had before', async () => {
    const run = flowRunStart({ id: 1, accountId: 1, brandId: 1, flow_id: 1, contact_id: 1, cause: 'm1' });
    expect(run.taskQueue).toBe('flows');
    for (const taskQueue of ['flows', 'orchestration'] as const) {
      await startWorkflow(engine.client, { ...run, taskQueue });
      await engine.client.workflow.getHandle(run.workflowId).result();
    }
  }, 60_000);

  it('stop with the engine and without it', async () => {
    await attachment.stop();
    await own.stop();
    await worker.stop();
  }, 60_000);
});
