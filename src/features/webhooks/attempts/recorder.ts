import type pg from 'pg';
import type { Logger } from 'pino';
import type { Waker } from '../../../platform/db/wake.ts';
import { createRecorder } from '../../../platform/queue/recorder.ts';
import type { MadeAttempt } from './health.ts';
import { recordAttempts, type DroppedDelivery, type RecordRules } from './record.ts';

export interface AttemptRecorder {
  made(attempt: MadeAttempt): void;
  dropped(deliveries: readonly DroppedDelivery[]): void;
  /** Resolves when everything given so far is committed, however long the database is unavailable. */
  settled(): Promise<void>;
  /** Like {@link settled}, but gives up results that the database refuses. */
  close(): Promise<void>;
}

/** The result of one webhook delivery: an attempt, or the reason why none was made. */
export type DeliveryResult = MadeAttempt | DroppedDelivery;

export interface AttemptRecorderDeps extends RecordRules {
  pool: pg.Pool;
  /** Woken after commits that leave work for other loops. */
  waker: Pick<Waker, 'wake'>;
  log: Logger;
  /** Called after each commit. */
  onRecorded: (results: readonly DeliveryResult[]) => void;
}

const MAX_RESULTS_PER_COMMIT = 500;
const MAX_RETRY_MS = 60_000;
/** Shortest pause between the starts of two commits, in which results gather. */
const RECORD_INTERVAL_MS = 5;

/** Records attempts in groups; one that the database refuses is retried at ever longer intervals. */
export function createAttemptRecorder(deps: AttemptRecorderDeps): AttemptRecorder {
  const recorder = createRecorder<DeliveryResult>({
    noun: 'webhook attempts',
    intervalMs: RECORD_INTERVAL_MS,
    maxGroup: MAX_RESULTS_PER_COMMIT,
    maxRetryMs: MAX_RETRY_MS,
    async commit(results) {
      const made = results.filter((result): result is MadeAttempt => 'outcome' in result);
      const dropped = results.filter((result): result is DroppedDelivery => 'reason' in result);
      for (const channel of await recordAttempts(deps.pool, { made, dropped }, deps))
        deps.waker.wake(channel);
      deps.onRecorded(results);
    },
    describe: ({ due }) => ({ delivery_id: due.deliveryId }),
    log: deps.log,
  });
  return {
    made: (attempt) => recorder.add(attempt),
    dropped(deliveries) {
      for (const delivery of deliveries) recorder.add(delivery);
    },
    settled: () => recorder.settled(),
    close: () => recorder.close(),
  };
}
