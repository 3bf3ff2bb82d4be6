import { cancellationSignal, Context, heartbeat } from '@temporalio/activity';
import { createTurns as createAccountTurns } from '../src/platform/processes/turns.ts';

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
 * @param stopping aborted when the process is about to stop
 * @param maxPerAccount at most so many of one account, if the work says whose it is
 */
export function createTurns(maxAtOnce: number, stopping: AbortSignal, maxPerAccount = maxAtOnce) {
  const turns = createAccountTurns({ places: maxAtOnce, perAccount: maxPerAccount });
  return async function attended<T>(
    work: (turn: Turn) => Promise<T>,
    accountId: number | null = null,
  ): Promise<T> {
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
