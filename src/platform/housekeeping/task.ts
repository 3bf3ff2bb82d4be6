import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { Database } from '../db/database.ts';

export interface HousekeepingDependencies {
  config: Config;
  database: Database;
  log: Logger;
}

/** Upkeep that may be repeated, interrupted, and run twice at once without harm. */
export interface HousekeepingTask {
  /** Shown to an operator and used to ask for it, such as `expired_suppressions`. */
  name: string;
  /**
   * @param asOf the time that ages are measured from
   * @param progress called after each batch
   * @returns rows changed or removed
   */
  run(deps: HousekeepingDependencies, asOf: Date, progress: () => void): Promise<number>;
}

/** Rows of one statement: short locks, and little to do again when it is interrupted. */
export const BATCH_ROWS = 1_000;

/**
 * Repeat one statement until it finds nothing more.
 * @param statement of SQL, whose last parameter is the most rows to touch
 * @param values its parameters before that one
 * @param batchRows rows of one statement
 * @returns rows touched in all
 */
export async function inBatches(
  deps: HousekeepingDependencies,
  statement: string,
  values: unknown[],
  progress: () => void,
  batchRows: number = BATCH_ROWS,
): Promise<number> {
  let total = 0;
  for (;;) {
    const { rowCount } = await deps.database.pool.query(statement, [...values, batchRows]);
    total += rowCount ?? 0;
    progress();
    if ((rowCount ?? 0) < batchRows) return total;
  }
}

/** A task that is one statement with the parameters `$1` (a time) and `$2` (rows at most). */
export function batchTask(
  name: string,
  statement: string,
  time: (deps: HousekeepingDependencies, asOf: Date) => Date = (_deps, asOf) => asOf,
): HousekeepingTask {
  return { name, run: (deps, asOf, progress) => inBatches(deps, statement, [time(deps, asOf)], progress) };
}

/** The moment `days` before. */
export function daysBefore(asOf: Date, days: number): Date {
  return new Date(asOf.getTime() - days * 86_400_000);
}
