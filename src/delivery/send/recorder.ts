import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { isConnectionError } from '../../platform/db/queryable.ts';
import { recordBatches, type BatchRecord } from './record.ts';

const MOST_WINDOWS = 32;
const RETRY_MS = 250;

export interface Recorder {
  /** Resolves when the window's outcomes are committed, however long the database is away. */
  record(window: BatchRecord): Promise<void>;
}

interface Waiting {
  window: BatchRecord;
  done: () => void;
}

/**
 * Records windows in groups: what arrives while one group is being committed makes the next.
 * @param onDeliveries called after a commit that queued webhook deliveries
 */
export function createRecorder(pool: pg.Pool, log: Logger, onDeliveries: () => void): Recorder {
  const waiting: Waiting[] = [];
  let running = false;

  async function recordUntilDone(group: Waiting[], alone = false): Promise<void> {
    for (;;) {
      try {
        const deliveries = await recordBatches(
          pool,
          group.map((each) => each.window),
        );
        for (const each of group) each.done();
        if (deliveries > 0) onDeliveries();
        return;
      } catch (error) {
        log.error({ err: error, windows: group.length }, 'outcomes not recorded yet');
        await sleep(RETRY_MS);
        // One bad window must not hold up the others: each goes on by itself.
        if (!isConnectionError(error) && !alone) {
          for (const each of group) void recordUntilDone([each], true);
          return;
        }
      }
    }
  }

  async function run(): Promise<void> {
    running = true;
    while (waiting.length > 0) await recordUntilDone(waiting.splice(0, MOST_WINDOWS));
    running = false;
  }

  return {
    record: (window) =>
      new Promise((done) => {
        waiting.push({ window, done });
        if (!running) void run();
      }),
  };
}
