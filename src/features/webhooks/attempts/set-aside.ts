import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Recording } from './record.ts';

const FIRST_MS = 250;
const LONGEST_MS = 60_000;

/** Records that failed on their own: each is tried again ever more rarely, one at a time, beside all others. */
export interface SetAside {
  add(recording: Recording): void;
  /** Resolves when none is left. */
  settled(): Promise<void>;
  /** Give up those that are left. */
  close(): Promise<void>;
}

/** @param commit throws where it could not */
export function createSetAside(commit: (recording: Recording) => Promise<void>, log: Logger): SetAside {
  const closing = new AbortController();
  const { signal } = closing;
  const waiting = new Set<Promise<void>>();
  let turn: Promise<unknown> = Promise.resolve();

  async function commitInTurn(recording: Recording): Promise<boolean> {
    const committing = turn.then(() => commit(recording));
    turn = committing.catch(() => undefined);
    try {
      await committing;
      return true;
    } catch (error) {
      for (const { due } of [...recording.made, ...recording.dropped]) {
        log.error({ err: error, delivery_id: due.deliveryId }, 'a webhook attempt cannot be recorded');
      }
      return false;
    }
  }

  async function retry(recording: Recording): Promise<void> {
    for (let delayMs = FIRST_MS; ; delayMs = Math.min(delayMs * 2, LONGEST_MS)) {
      await sleep(delayMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted || (await commitInTurn(recording))) return;
    }
  }

  async function settled(): Promise<void> {
    while (waiting.size > 0) await Promise.all(waiting);
  }

  return {
    add(recording) {
      const retrying = retry(recording).finally(() => waiting.delete(retrying));
      waiting.add(retrying);
    },
    settled,
    async close() {
      closing.abort();
      await settled();
    },
  };
}
