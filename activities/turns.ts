import type { Queryable } from '../src/platform/db/queryable.ts';
import { FairGate, type GateOptions } from '../src/platform/processes/fair-gate.ts';
import type { Attendance } from '../src/platform/temporal/contract.ts';
import { attended } from './attended.ts';

const HEARTBEAT_MS = 5_000;

/**
 * Runs long activities, a few at a time. They send heartbeats even while they wait for their turn.
 * @param limits per process, for all accounts and for each; the latter must be lower, so that another account can start
 *   at once
 * @param stopping aborted when the process is about to stop
 */
export function createTurns(limits: Pick<GateOptions, 'slots' | 'perKey'>, stopping: AbortSignal) {
  const gate = new FairGate<number | null>(limits);
  return <T>(accountId: number | null, work: (attendance: Attendance) => Promise<T>): Promise<T> =>
    attended({ heartbeatMs: HEARTBEAT_MS, stopping }, (attendance) =>
      gate.run(accountId, () => work(attendance)),
    );
}

/**
 * Finds the account of a workflow's row, whose turn the work on it takes. The workflow's input may lack it: workflows
 * started by earlier versions have only the id.
 * @returns null if the row has been deleted
 */
export async function accountOf(
  db: Queryable,
  table: 'bulk_actions' | 'conversation_messages' | 'exports' | 'flows' | 'imports' | 'validation_operations',
  id: number,
): Promise<number | null> {
  const { rows } = await db.query<{ account_id: number }>(`select account_id from ${table} where id = $1`, [
    id,
  ]);
  return rows[0]?.account_id ?? null;
}
