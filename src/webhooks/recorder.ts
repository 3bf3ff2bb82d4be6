import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { isConnectionError } from '../db/queryable.ts';
import type { Waker } from '../db/wake.ts';
import type { MadeAttempt } from './attempted-webhooks.ts';
import { recordAttempts, type DroppedDelivery, type RecordRules } from './record.ts';

const MOST_ATTEMPTS = 500;
const RETRY_MS = 250;

export interface AttemptRecorder {
  made(attempt: MadeAttempt): void;
  dropped(deliveries: readonly DroppedDelivery[]): void;
  /** Resolves when everything so far is committed, however long the database is away. */
  settled(): Promise<void>;
}

export interface AttemptRecorderDeps extends RecordRules {
  pool: pg.Pool;
  /** Rung after commits, for what follows from them. */
  waker: Pick<Waker, 'wake'>;
  log: Logger;
  /** Called after each commit. */
  onRecorded: (deliveryIds: number[]) => void;
}

/** Records attempts in groups: what ends while one group is being committed makes the next. */
export function createAttemptRecorder(deps: AttemptRecorderDeps): AttemptRecorder {
  let made: MadeAttempt[] = [];
  let dropped: DroppedDelivery[] = [];
  let running: Promise<void> | null = null;

  async function recordUntilDone(attempts: MadeAttempt[], drops: DroppedDelivery[]): Promise<void> {
    for (;;) {
      try {
        const recording = { made: attempts, dropped: drops };
        for (const channel of await recordAttempts(deps.pool, recording, deps)) deps.waker.wake(channel);
        deps.onRecorded([...attempts, ...drops].map((each) => each.due.deliveryId));
        return;
      } catch (error) {
        deps.log.error({ err: error, attempts: attempts.length }, 'webhook attempts not recorded yet');
        await sleep(RETRY_MS);
        // One bad attempt must not hold up the others.
        if (attempts.length + drops.length > 1 && !isConnectionError(error))
          return recordEach(attempts, drops);
      }
    }
  }

  async function recordEach(attempts: MadeAttempt[], drops: DroppedDelivery[]): Promise<void> {
    for (const attempt of attempts) await recordUntilDone([attempt], []);
    for (const drop of drops) await recordUntilDone([], [drop]);
  }

  async function run(): Promise<void> {
    while (made.length > 0 || dropped.length > 0) {
      const attempts = made.slice(0, MOST_ATTEMPTS);
      made = made.slice(MOST_ATTEMPTS);
      const drops = dropped;
      dropped = [];
      await recordUntilDone(attempts, drops);
    }
    running = null;
  }

  const start = () => {
    // What ends in the same turn of the event loop is recorded together.
    running ??= new Promise<void>((resolve) => setImmediate(resolve)).then(run);
  };
  return {
    made(attempt) {
      made.push(attempt);
      start();
    },
    dropped(deliveries) {
      if (deliveries.length === 0) return;
      dropped = dropped.concat(deliveries);
      start();
    },
    async settled() {
      while (running) await running;
    },
  };
}
