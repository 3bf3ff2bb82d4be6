// The time-skipping engine runs a workflow that sleeps for days without waiting.
import { expect, it } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { testsThatNeed } from './tests-that-need.ts';
import { createTimeSkippingEnvironment } from './time-skipping.ts';
import type { sleeper } from './workflows/sleeper.ts';

const { afterAll, beforeAll, describe } = testsThatNeed('time-skipping server');

describe('the time-skipping engine', () => {
  let environment: TestWorkflowEnvironment;
  beforeAll(async () => {
    environment = await createTimeSkippingEnvironment();
  }, 60_000);
  afterAll(() => environment.teardown());

  it('runs a workflow that sleeps three days without waiting', async () => {
    const worker = await Worker.create({
      connection: environment.nativeConnection,
      taskQueue: 'sleepers',
      workflowsPath: new URL('./workflows/sleeper.ts', import.meta.url).pathname,
    });
    const slept = await worker.runUntil(
      environment.client.workflow.execute<typeof sleeper>('sleeper', {
        taskQueue: 'sleepers',
        workflowId: 'sleeper',
        args: ['3 days'],
      }),
    );
    expect(slept).toBeGreaterThanOrEqual(3 * 24 * 3_600_000);
  });
});
