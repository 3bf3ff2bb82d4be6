import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { Database } from '../db/database.ts';
import type { PartitionedTable } from '../db/partitions.ts';
import type { ProcessWork } from '../processes/process.ts';

export interface HousekeepingDependencies {
  config: Config;
  database: Database;
  log: Logger;
  /** Every partitioned table. */
  partitions: readonly PartitionedTable[];
  /** All work that a process may own. */
  processWork: readonly ProcessWork[];
}

/** An hourly task. It must do no harm to repeat it, to interrupt it, or to run it twice at once. */
export interface HousekeepingTask {
  /** A name such as `idempotency_keys`, shown to operators and part of the workflow's history. */
  name: string;
  /**
   * @param asOf the time from which ages are measured
   * @param progress called after each batch
   * @returns how many rows were changed or removed
   */
  run(deps: HousekeepingDependencies, asOf: Date, progress: () => void): Promise<number>;
}

/** Number of rows per statement; small, so that locks are short and an interruption loses little. */
const BATCH_ROWS = 1_000;

/**
 * Repeats an SQL statement until it finds no more rows.
 * @param statement its last parameter limits the number of rows
 * @param values the other parameters
 * @param progress called after each batch
 * @param batchRows the limit
 * @returns how many rows all batches changed or removed
 */
export async function inBatches(
  { database }: Pick<HousekeepingDependencies, 'database'>,
  statement: string,
  values: unknown[],
  progress: () => void,
  batchRows: number = BATCH_ROWS,
): Promise<number> {
  let total = 0;
  for (;;) {
    const { rowCount } = await database.pool.query(statement, [...values, batchRows]);
    total += rowCount ?? 0;
    progress();
    if ((rowCount ?? 0) < batchRows) return total;
  }
}

/**
 * A task that repeats an SQL statement.
 * @param statement its parameters are `$1`, a time, and `$2`, the maximum number of rows
 * @param time by default `asOf`
 */
export function batchTask(
  name: string,
  statement: string,
  time: (deps: HousekeepingDependencies, asOf: Date) => Date = (_deps, asOf) => asOf,
): HousekeepingTask {
  return { name, run: (deps, asOf, progress) => inBatches(deps, statement, [time(deps, asOf)], progress) };
}

/** The time `days` before `asOf`. */
export function daysBefore(asOf: Date, days: number): Date {
  return new Date(asOf.getTime() - days * 86_400_000);
}
