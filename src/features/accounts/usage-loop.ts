import type pg from 'pg';
import { foldUsage } from '../../delivery/ledger/money/usage.ts';
import type { Pulse } from '../../platform/processes/pulse.ts';
import type { Repeating } from '../../platform/processes/repeat.ts';

/** Adds the accounts' usage to their counters within a second. Any number of processes may run this. */
export function startUsageCounts({ pool, pulse }: { pool: pg.Pool; pulse: Pulse }): Repeating {
  const queue = { name: 'counting what accounts use', waiting: 'exists (select from usage_changes)' };
  return pulse.repeat(queue, () => foldUsage(pool));
}
