import type { Queryable } from '../src/platform/db/queryable.ts';
import { FairGate, type GateOptions } from '../src/platform/processes/fair-gate.ts';
import type { Attendance } from '../src/platform/temporal/contract.ts';
import { attended } from './attended.ts';

const HEARTBEAT_MS = 5_000;

/**
 * Runs long activities, a few at a time. They send heartbeats also while they wait for their turn.
 * @param limits of one process, for all accounts and for one, which must have fewer: another can then begin at once
 * @param stopping aborted when the process is about to stop
 */
export function createTurns(limits: Pick<GateOptions, 'places' | 'perKey'>, stopping: AbortSignal) {
  const gate = new FairGate<number | null>(limits);
  return <T>(accountId: number | null, work: (attendance: Attendance) => Promise<T>): Promise<T> =>
    attended({ heartbeatMs: HEARTBEAT_MS, stopping }, (attendance) =>
      gate.run(accountId, () => work(attendance)),
    );
}

/**
 * Returns the account of a row that a workflow names, so that the work on it has that account's turn. The workflow's input
 * cannot say it: those started by earlier versions have only the id.
 * @returns null if the row is gone
 */
export async function accountOf(
  db: Queryable,
  table: 'exports' | 'flows' | 'imports' | 'validation_operations',
  id: number,
): Promise<number | null> {
  const { rows } = await db.query<{ account_id: number }>(`select account_id from ${table} where id = $1`, [
    id,
  ]);
  return rows[0]?.account_id ?? null;
}
