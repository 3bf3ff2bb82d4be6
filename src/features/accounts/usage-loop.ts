import type pg from 'pg';
import type { Logger } from 'pino';
import { foldUsage } from '../../delivery/money/usage.ts';
import { repeat, type Repeating } from '../../platform/processes/repeat.ts';

const PAUSE_MS = 1_000;

/** Adds the accounts' usage to their counters every second. Any number of processes may run this. */
export function startUsageCounts({ pool, log }: { pool: pg.Pool; log: Logger }): Repeating {
  return repeat(async () => ((await foldUsage(pool)) ? 0 : PAUSE_MS), {
    log,
    name: 'counting what accounts use',
  });
}
