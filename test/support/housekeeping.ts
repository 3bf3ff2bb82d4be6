import pino from 'pino';
import { loadConfig } from '../../src/config.ts';
import type { Database } from '../../src/platform/db/database.ts';
import type { HousekeepingTask } from '../../src/platform/housekeeping/task.ts';

/**
 * Runs a housekeeping task once, with the default settings.
 * @param env settings other than the default
 * @returns the number of rows that it changed or removed
 */
export function runTask(
  database: Database,
  task: HousekeepingTask,
  asOf: Date,
  env: Record<string, string> = {},
): Promise<number> {
  const deps = {
    ...{ config: loadConfig({ NODE_ENV: 'test', ...env }), database, log: pino({ level: 'silent' }) },
    ...{ partitions: [], processWork: [] },
  };
  return task.run(deps, asOf, () => undefined);
}
