// A lane keeps its mode when it continues as new, and deletes its surplus row when it is retired.
import { expect, it } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { createLaneModeActivities } from '../../activities/lanes.ts';
import { recordLaneMode } from '../../src/platform/lanes/rows.ts';
import { installRuntime } from '../../src/platform/temporal/worker.ts';
import {
  laneWorkflowId,
  type LaneAttachment,
  type LaneModeActivities,
} from '../../workflows/lanes/contract.ts';
import type { LaneState } from '../../workflows/lanes/workflow.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sharedWorkflowBundle } from '../support/engine.ts';
import { testsThatNeed } from '../support/tests-that-need.ts';
import { createTimeSkippingEnvironment } from '../support/time-skipping.ts';
import { createTestLoop } from './test-loop.ts';
import { until } from './until.ts';

const { afterAll, beforeAll, describe } = testsThatNeed('time-skipping server');

let env: TestWorkflowEnvironment;
let db: TestDatabase;
let worker: Worker;
let running: Promise<void>;
let databaseDown = false;
/** How often a sender has detached a lane, by lane. */
const stays = new Map<number, number>();
/** Of one run of a lane. */
const MAX_STAYS = 200;

/** The activities, which fail while the database is unavailable. */
function unlessDown(activities: LaneModeActivities): LaneModeActivities {
  const check = async () => {
    if (databaseDown) throw new Error('connect ECONNREFUSED');
  };
  return {
    openLane: (lane) => check().then(() => activities.openLane(lane)),
    recordLaneMode: (lane, mode) => check().then(() => activities.recordLaneMode(lane, mode)),
    forgetLane: (lane) => check().then(() => activities.forgetLane(lane)),
  };
}

async function startLane(n: number) {
  return env.client.workflow.start('sendLane', {
    workflowId: laneWorkflowId('send', n),
    taskQueue: 'orchestration',
    args: [{ schema: 1, n }],
  });
}

beforeAll(async () => {
  installRuntime(pino({ level: 'silent' }));
  [env, db] = await Promise.all([createTimeSkippingEnvironment(), createTestDatabase()]);
  worker = await Worker.create({
    connection: env.nativeConnection,
    taskQueue: 'orchestration',
    workflowBundle: await sharedWorkflowBundle(),
    activities: unlessDown(createLaneModeActivities({ database: db.database })),
  });
  running = worker.run();
}, 120_000);

afterAll(async () => {
  worker.shutdown();
  await running;
  await env.teardown();
  await db.drop();
});

/** Runs a sender that detaches every lane at once. */
async function whileStaysAreShort<T>(work: () => Promise<T>): Promise<T> {
  const sender = await Worker.create({
    connection: env.nativeConnection,
    taskQueue: 'delivery',
    activities: {
      async attachLane({ n }: LaneAttachment) {
        stays.set(n, (stays.get(n) ?? 0) + 1);
        return createTestLoop('send', 1).report();
      },
    },
  });
  return sender.runUntil(work);
}

describe('a lane', () => {
  // The first test: while another lane waits for a sender, time is not skipped.
  it('keeps a pause that it could not write when it continues as new', async () => {
    const handle = await startLane(4);
    const current = env.client.workflow.getHandle(handle.workflowId);
    await until(async () => (await current.query<LaneState>('state')).mode === 'running');
    const first = (await handle.describe()).runId;
    databaseDown = true;
    await handle.signal('pause');
    await whileStaysAreShort(async () => {
      await until(() => (stays.get(4) ?? 0) >= MAX_STAYS, 200_000);
      // The workflow waits a minute for the database before it continues as new.
      await env.sleep('1 minute');
      await until(async () => (await current.describe()).runId !== first, 200_000);
    });
    await until(async () => (await current.query<LaneState>('state')).wanted === 'paused');
    databaseDown = false;
    await until(async () => {
      const { rows } = await db.database.pool.query<{ mode: string }>('select mode from lanes where n = 4');
      return rows[0]?.mode === 'paused';
    }, 50_000);
    await current.signal('retire');
    await current.result();
  }, 300_000);

  it('continues as new after about a week of stays, and keeps its mode', async () => {
    await recordLaneMode(db.database.pool, { kind: 'send', n: 1 }, 'draining');
    const handle = await startLane(1);
    const first = (await handle.describe()).runId;
    const current = env.client.workflow.getHandle(handle.workflowId);
    await whileStaysAreShort(() => until(async () => (await current.describe()).runId !== first, 50_000));
    const { events } = await env.client.workflow.getHandle(handle.workflowId, first).fetchHistory();
    const ended = events?.filter((event) => event.activityTaskCompletedEventAttributes) ?? [];
    expect(ended.length).toBe(MAX_STAYS + 1);
    const timers = events?.filter((event) => event.timerStartedEventAttributes) ?? [];
    const labels = timers.map((event) => Buffer.from(event.userMetadata?.summary?.data ?? []).toString());
    expect([...new Set(labels)]).toEqual(['"until an operator changes the mode"']);
    await until(async () => {
      const { mode, n } = await current.query<LaneState>('state');
      return mode === 'draining' && n === 1;
    });
  }, 60_000);

  it('writes the mode of the last signal into its row, even without a sender', async () => {
    const handle = await startLane(2);
    for (const signal of ['pause', 'resume', 'drain', 'pause']) await handle.signal(signal);
    await until(async () => {
      const { rows } = await db.database.pool.query<{ mode: string }>('select mode from lanes where n = 2');
      return rows[0]?.mode === 'paused' && (await handle.query<LaneState>('state')).wanted === null;
    });
  }, 60_000);

  it('ends when it is retired, and deletes its surplus row', async () => {
    const handle = await startLane(3);
    await db.database.pool.query(`insert into lanes (kind, n, surplus_since) values ('send', 3, now())
                                  on conflict (kind, n) do update set surplus_since = now()`);
    await handle.signal('retire');
    await handle.result();
    const { rows } = await db.database.pool.query('select n from lanes where n = 3');
    expect(rows).toEqual([]);
  }, 60_000);
});
