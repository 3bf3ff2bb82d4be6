import type { Config } from '../src/config.ts';
import { createExportWriter } from '../src/features/exports/service.ts';
import type { Database } from '../src/platform/db/database.ts';
import { createHomeStore } from '../src/platform/storage/local-disk.ts';
import type { Attendance } from '../src/platform/temporal/contract.ts';
import type { ExportActivities } from '../workflows/exports/contract.ts';
import { presentTime } from './present-time.ts';
import { accountOf, createTurns } from './turns.ts';

const MEGABYTE = 1024 * 1024;
/** Number of exports that one process works on concurrently, each for about ten seconds at a time. */
const LIMITS = { slots: 2, perKey: 1 };

export interface ExportActivityDependencies {
  config: Pick<Config, 'CARILLON_HOME' | 'EXPORT_QUOTA_MB'>;
  database: Database;
  stopping: AbortSignal;
}

/** The activities of the workflow `export/<id>`. */
export function createExportActivities(deps: ExportActivityDependencies): ExportActivities {
  const { config, database, stopping } = deps;
  const writer = createExportWriter({
    pool: database.pool,
    store: createHomeStore(config.CARILLON_HOME),
    quotaBytes: config.EXPORT_QUOTA_MB * MEGABYTE,
  });
  const turns = createTurns(LIMITS, stopping);
  const inTurn = async <T>(id: number, work: (attendance: Attendance) => Promise<T>): Promise<T> =>
    turns(await accountOf(database.pool, 'exports', id), work);
  return {
    beginExport: (id, asOf) => writer.begin(id, presentTime(asOf)),
    planExport: (id, asOf) => inTurn(id, (turn) => writer.plan(id, presentTime(asOf), turn)),
    writeExport: (id, asOf) => inTurn(id, (turn) => writer.write(id, presentTime(asOf), turn)),
    failExport: (id) => writer.fail(id),
  };
}
