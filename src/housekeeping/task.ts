import type { Logger } from 'pino';
import type { Config } from '../config.ts';
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
