// The housekeeping workflow retries a failing task, and a task that fails for good does not stop the others.
import { expect, it } from '@jest/globals';
import { ApplicationFailure } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { installRuntime } from '../../src/platform/temporal/worker.ts';
import type { HousekeepingActivities } from '../../workflows/housekeeping/contract.ts';
import { sharedWorkflowBundle } from '../support/engine.ts';
import { testsThatNeed } from '../support/tests-that-need.ts';
import { createTimeSkippingEnvironment } from '../support/time-skipping.ts';

const { afterAll, beforeAll, describe } = testsThatNeed('time-skipping server');

let env: TestWorkflowEnvironment;

beforeAll(async () => {
  installRuntime(pino({ level: 'silent' }));
  env = await createTimeSkippingEnvironment();
}, 120_000);

afterAll(() => env.teardown());

async function housekeep(
  runHousekeepingTask: HousekeepingActivities['runHousekeepingTask'],
): Promise<unknown> {
  const activities = { listHousekeepingTasks: async () => ['first', 'second', 'third'], runHousekeepingTask };
  const shared = { connection: env.nativeConnection, activities };
  const workers = [
    await Worker.create({
      ...shared,
      taskQueue: 'orchestration',
      workflowBundle: await sharedWorkflowBundle(),
    }),
    await Worker.create({ ...shared, taskQueue: 'bulk' }),
  ];
  const running = workers.map((worker) => worker.run());
  try {
    const workflowId = `housekeeping-${Math.random()}`;
    return await env.client.workflow.execute('housekeeping', { workflowId, taskQueue: 'orchestration' });
  } finally {
    for (const worker of workers) worker.shutdown();
    await Promise.all(running);
  }
}

describe('the housekeeping workflow', () => {
  it('reports a final failure of a task, and runs the others', async () => {
    const result = await housekeep(async (name) => {
      if (name === 'second') throw ApplicationFailure.nonRetryable('the disk is full');
      return 5;
    });
    expect(result).toEqual({
      first: { rows: 5 },
      second: { error: 'the disk is full' },
      third: { rows: 5 },
    });
  });

  it('retries a task that fails a few times, and passes the time to it', async () => {
    const before = await env.currentTimeMs();
    let failures = 0;
    const times: number[] = [];
    const result = await housekeep(async (name, asOf) => {
      times.push(Date.parse(asOf));
      if (name === 'first' && (failures += 1) < 4) throw new Error('not now');
      return 1;
    });
    expect(result).toEqual({ first: { rows: 1 }, second: { rows: 1 }, third: { rows: 1 } });
    expect(failures).toBe(4);
    expect(times.every((time) => time >= before - 1_000)).toBe(true);
  });
});
