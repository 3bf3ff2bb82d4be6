import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isConnectionError } from '../../platform/db/queryable.ts';
import type { WakeChannel } from '../../platform/db/wake.ts';
import { type BatchRecord, type BatchRecordingDeps, createBatchRecording } from './record.ts';

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
 * @param wake called after a commit, for work that follows from it
 */
export function createRecorder(
  deps: BatchRecordingDeps,
  log: Logger,
  wake: (channel: WakeChannel) => void,
): Recorder {
  const recordBatches = createBatchRecording(deps);
  const waiting: Waiting[] = [];
  let running = false;

  async function recordUntilDone(group: Waiting[], alone = false): Promise<void> {
    for (;;) {
      try {
        const queued = await recordBatches(group.map((each) => each.window));
        for (const each of group) each.done();
        for (const channel of queued.keys()) wake(channel);
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
