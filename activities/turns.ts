import { cancellationSignal, Context, heartbeat } from '@temporalio/activity';
import type { Queryable } from '../src/platform/db/queryable.ts';
import { createTurns as createAccountTurns } from '../src/platform/processes/fair-gate.ts';

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

/** Long activities that one process runs at the same time. Others wait. */
export interface TurnLimits {
  places: number;
  /** Of one account: fewer than there are places, so that another account can begin at once. */
  perAccount: number;
}

/**
 * Runs long activities, a few at a time. They send heartbeats also while they wait for their turn.
 * @param stopping aborted when the process is about to stop
 */
export function createTurns(limits: TurnLimits, stopping: AbortSignal) {
  const turns = createAccountTurns(limits);
  return async function attended<T>(accountId: number | null, work: (turn: Turn) => Promise<T>): Promise<T> {
    const turn: Turn = {
      progress: () => heartbeat(),
      stopping: AbortSignal.any([stopping, cancellationSignal()]),
      attempt: Context.current().info.attempt,
    };
    const timer = setInterval(() => heartbeat(), HEARTBEAT_MS);
    try {
      return await turns.run(String(accountId), () => work(turn));
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
