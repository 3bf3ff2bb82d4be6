import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { isConnectionError } from '../../../platform/db/queryable.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import type { MadeAttempt } from './health.ts';
import { recordAttempts, type DroppedDelivery, type Recording, type RecordRules } from './record.ts';
import { createSetAside } from './set-aside.ts';

const MOST_ATTEMPTS = 500;
const RETRY_MS = 250;

export interface AttemptRecorder {
  made(attempt: MadeAttempt): void;
  dropped(deliveries: readonly DroppedDelivery[]): void;
  /** Resolves when everything so far is committed, however long the database is away. */
  settled(): Promise<void>;
  /** As {@link settled}, but gives up what the database refuses. */
  close(): Promise<void>;
}

export interface AttemptRecorderDeps extends RecordRules {
  pool: pg.Pool;
  /** Rung after commits, for what follows from them. */
  waker: Pick<Waker, 'wake'>;
  log: Logger;
  /** Called after each commit. */
  onRecorded: (deliveryIds: number[]) => void;
}

function oneByOne({ made, dropped }: Recording): Recording[] {
  return [
    ...made.map((each) => ({ made: [each], dropped: [] })),
    ...dropped.map((each) => ({ made: [], dropped: [each] })),
  ];
}

/** Records attempts in groups: what ends while one group is being committed makes the next. */
export function createAttemptRecorder(deps: AttemptRecorderDeps): AttemptRecorder {
  let made: MadeAttempt[] = [];
  let dropped: DroppedDelivery[] = [];
  let running: Promise<void> | null = null;

  async function commit(recording: Recording): Promise<void> {
    for (const channel of await recordAttempts(deps.pool, recording, deps)) deps.waker.wake(channel);
    deps.onRecorded([...recording.made, ...recording.dropped].map((each) => each.due.deliveryId));
  }
  const aside = createSetAside(commit, deps.log);

  /** @returns false where it failed for another reason than the database's absence, which is waited for */
  async function tryRecord(recording: Recording): Promise<boolean> {
    for (;;) {
      try {
        await commit(recording);
        return true;
      } catch (error) {
        deps.log.error({ err: error, attempts: recording.made.length }, 'webhook attempts not recorded yet');
        if (!isConnectionError(error)) return false;
        await sleep(RETRY_MS);
      }
    }
  }

  async function run(): Promise<void> {
    while (made.length > 0 || dropped.length > 0) {
      const recording = { made: made.slice(0, MOST_ATTEMPTS), dropped };
      made = made.slice(MOST_ATTEMPTS);
      dropped = [];
      if (await tryRecord(recording)) continue;
      // One bad attempt must not hold up the others.
      const alone = oneByOne(recording);
      for (const each of alone) if (alone.length === 1 || !(await tryRecord(each))) aside.add(each);
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
      await aside.settled();
    },
    async close() {
      while (running) await running;
      await aside.close();
    },
  };
}
