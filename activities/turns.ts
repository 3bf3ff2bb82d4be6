import { cancellationSignal, Context, heartbeat } from '@temporalio/activity';

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

/** Lets a few callers in at a time, the others in the order in which they came. */
function createQueue(maxAtOnce: number) {
  const waiting: (() => void)[] = [];
  let free = maxAtOnce;
  return async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}

/**
 * Runs long activities, a few at a time. They send heartbeats also while they wait for their turn.
 * @param stopping aborted when the process is about to stop
 */
export function createTurns(maxAtOnce: number, stopping: AbortSignal) {
  const inTurn = createQueue(maxAtOnce);
  return async function attended<T>(work: (turn: Turn) => Promise<T>): Promise<T> {
    const turn: Turn = {
      progress: () => heartbeat(),
      stopping: AbortSignal.any([stopping, cancellationSignal()]),
      attempt: Context.current().info.attempt,
    };
    const timer = setInterval(() => heartbeat(), HEARTBEAT_MS);
    try {
      return await inTurn(() => work(turn));
    } finally {
      clearInterval(timer);
    }
  };
}
