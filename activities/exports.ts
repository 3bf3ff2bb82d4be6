import type { Config } from '../src/config.ts';
import { createExportWriter } from '../src/features/exports/service.ts';
import type { Database } from '../src/platform/db/database.ts';
import { createHomeStore } from '../src/platform/storage/local-disk.ts';
import type { ExportActivities } from '../workflows/exports/contract.ts';
import { createTurns } from './turns.ts';

const MEGABYTE = 1024 * 1024;
/** Exports that one process works on at the same time, each for a turn of about ten seconds. */
const MAX_AT_ONCE = 2;

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
  const inTurn = createTurns(MAX_AT_ONCE, stopping);
  return {
    beginExport: (id, asOf) => writer.begin(id, new Date(asOf)),
    planExport: (id, asOf) => inTurn((turn) => writer.plan(id, new Date(asOf), turn)),
    writeExport: (id, asOf) => inTurn((turn) => writer.write(id, new Date(asOf), turn)),
    failExport: (id) => writer.fail(id),
  };
}
