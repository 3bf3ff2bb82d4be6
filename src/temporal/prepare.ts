import {
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  type ScheduleUpdateOptions,
} from '@temporalio/client';
import type { Logger } from 'pino';
import { housekeepingScheduleId, housekeepingWorkflowType } from '../../workflows/housekeeping/contract.ts';
import { callEngine, type Engine } from './connection.ts';
import { searchAttributeNames } from './search-attributes.ts';
import { taskQueues } from './task-queues.ts';

/** Temporal's IndexedValueType of an exact, indexed string. */
const KEYWORD = 2;
const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;

async function registerMissing(engine: Engine): Promise<void> {
  const { connection } = engine.client;
  const { namespace } = engine;
  const known = await callEngine(engine.client, () =>
    connection.operatorService.listSearchAttributes({ namespace }),
  );
  const missing = searchAttributeNames.filter((name) => !(name in known.customAttributes));
  if (missing.length === 0) return;
  const searchAttributes = Object.fromEntries(missing.map((name) => [name, KEYWORD]));
  await callEngine(engine.client, () =>
    connection.operatorService.addSearchAttributes({ namespace, searchAttributes }),
  );
}

/**
 * Register the search attributes that the namespace lacks.
 * Temporal Cloud does not let a client do that: there it is said once, and they are made by its own tools.
 * @throws where the engine is away
 */
export async function ensureSearchAttributes(engine: Engine, log: Logger): Promise<void> {
  try {
    await registerMissing(engine);
  } catch (error) {
    const { code } = error as { code?: number };
    if (code !== PERMISSION_DENIED && code !== UNIMPLEMENTED) throw error;
    log.warn(
      { needed: searchAttributeNames },
      'the engine does not let us register search attributes: make these as Keywords with its own tools',
    );
  }
}

const housekeeping = {
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
 * Make the hourly Schedule, or bring the one there up to this version; whether an operator paused it stays.
 * @throws where the engine is away
 */
export async function ensureHousekeeping(engine: Engine): Promise<void> {
  const { schedule } = engine.client;
  await callEngine(engine.client, async () => {
    try {
      await schedule.create({ scheduleId: housekeepingScheduleId, ...housekeeping });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await schedule.getHandle(housekeepingScheduleId).update((known) => ({ ...known, ...housekeeping }));
    }
  });
}
