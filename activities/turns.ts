import { cancellationSignal, Context, heartbeat } from '@temporalio/activity';
import type { Queryable } from '../src/platform/db/queryable.ts';
import { FairGate, type GateOptions } from '../src/platform/processes/fair-gate.ts';

const HEARTBEAT_MS = 5_000;

/** What an activity gives to a long piece of work. */
export interface Turn {
  /** Reports that the work goes on. */
  progress: () => void;
  /** Aborted when the work should end: the process stops, or the activity was canceled. */
  stopping: AbortSignal;
  /** Which try of the activity it is, from 1 on. */
  attempt: number;
}

/**
 * Runs long activities, a few at a time. They send heartbeats also while they wait for their turn.
 * @param limits of one process, for all accounts and for one, which must have fewer: another can then begin at once
 * @param stopping aborted when the process is about to stop
 */
export function createTurns(limits: Pick<GateOptions, 'places' | 'perKey'>, stopping: AbortSignal) {
  const gate = new FairGate<number | null>(limits);
  return async function attended<T>(accountId: number | null, work: (turn: Turn) => Promise<T>): Promise<T> {
    const turn: Turn = {
      progress: () => heartbeat(),
      stopping: AbortSignal.any([stopping, cancellationSignal()]),
      attempt: Context.current().info.attempt,
    };
    const timer = setInterval(() => heartbeat(), HEARTBEAT_MS);
    try {
      return await gate.run(accountId, () => work(turn));
    } finally {
      clearInterval(timer);
    }
  };
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
