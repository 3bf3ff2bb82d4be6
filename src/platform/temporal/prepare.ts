import {
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  type ScheduleUpdateOptions,
} from '@temporalio/client';
import type { Logger } from 'pino';
import {
  housekeepingScheduleId,
  housekeepingWorkflowType,
} from '../../../workflows/housekeeping/contract.ts';
import type { Database } from '../db/database.ts';
import { ensureLanes } from '../lanes/ensure.ts';
import { repeat } from '../processes/repeat.ts';
import { callEngine, type Engine } from './connection.ts';
import { searchAttributeNames, taskQueues } from './contract.ts';

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

const CHECK_MS = 5_000;
const AWAY_MS = 2_000;
/** An engine that refuses what it is told is asked again for what it knows at most this often. */
const REPEAT_MS = 5_000;

export interface Preparation {
  /** Look again soon. */
  wake(): void;
  /** Make everything now. @throws where the engine is away */
  prepare(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Keep an engine ready for us: search attributes, the housekeeping Schedule, lanes. All is made again when the
 * engine turns out to be a new one, or refuses something.
 */
export function createPreparation(deps: { engine: Engine; database: Database; log: Logger }): Preparation {
  const { engine, database, log } = deps;
  let preparedFor: string | null = null;
  let preparedAt = 0;
  let asked = false;
  const prepare = async (): Promise<void> => {
    const namespaceId = await engine.namespaceId();
    await ensureSearchAttributes(engine, log);
    await ensureHousekeeping(engine);
    if (namespaceId !== preparedFor) await ensureLanes(engine.client, database, { force: true });
    preparedFor = namespaceId;
    preparedAt = Date.now();
    asked = false;
  };
  const round = async (): Promise<number> => {
    const sinceMs = Date.now() - preparedAt;
    if (asked && sinceMs < REPEAT_MS) return REPEAT_MS - sinceMs;
    try {
      if (asked || (await engine.namespaceId()) !== preparedFor) await prepare();
      return CHECK_MS;
    } catch (error) {
      log.debug({ err: error }, 'the engine could not be prepared');
      return AWAY_MS;
    }
  };
  const loop = repeat(round, { log, name: 'preparing the engine' });
  return {
    wake() {
      if (asked) return;
      asked = true;
      loop.wake();
    },
    prepare,
    stop: () => loop.stop(),
  };
}
