import {
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  type ScheduleUpdateOptions,
} from '@temporalio/client';
import {
  housekeepingScheduleId,
  housekeepingWorkflowType,
} from '../../../workflows/housekeeping/contract.ts';
import { callEngine, type Engine } from '../temporal/connection.ts';
import { taskQueues } from '../temporal/contract.ts';

const hourly = {
  spec: { intervals: [{ every: '1h', offset: '7m' }] },
  action: {
    type: 'startWorkflow',
    workflowType: housekeepingWorkflowType,
    workflowId: housekeepingScheduleId,
    taskQueue: taskQueues.orchestration,
    args: [],
    workflowRunTimeout: '6h',
    staticSummary: 'Retention, expired suppressions, partitions and counts',
  },
  policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1h' },
} satisfies Omit<ScheduleUpdateOptions, 'state'>;

/**
 * Creates the Schedule that starts the housekeeping workflow each hour, or updates an existing one to this version. A
 * Schedule that an operator paused stays paused.
 * @throws if the engine is unavailable
 */
export async function ensureHousekeepingSchedule(engine: Engine): Promise<void> {
  const { schedule } = engine.client;
  await callEngine(engine.client, async () => {
    try {
      await schedule.create({ scheduleId: housekeepingScheduleId, ...hourly });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await schedule.getHandle(housekeepingScheduleId).update((known) => ({ ...known, ...hourly }));
    }
  });
}
