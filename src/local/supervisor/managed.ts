import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';

/** A process that was started. */
export interface Running {
  readonly pid: number;
  /** Resolves when it has ended, for whatever reason. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

export interface ManagedOptions {
  name: string;
  /** Resolves once it is ready for use. */
  start: () => Promise<Running>;
  /** Told at every start, and null at every end. */
  onPid: (pid: number | null) => void;
  log: Logger;
  /** Of the first restart; doubled each time, up to half a minute. */
  firstDelayMs?: number;
  /** For tests: a clock in milliseconds, and what waits by it. */
  now?: () => number;
  wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** A process that is started again whenever it ends, until it is stopped. */
export interface Managed {
  stop(): Promise<void>;
}

const waitInTruth = (ms: number, signal: AbortSignal) => delay(ms, undefined, { signal });

const LONGEST_DELAY_MS = 30_000;
/** What ran this long has earned a quick restart. */
const STEADY_MS = 30_000;

/**
 * Start a process and keep it running, with backoff.
 * @throws what the first start throws; later failures are logged and tried again
 */
export async function keepRunning(options: ManagedOptions): Promise<Managed> {
  const { name, start, onPid, log, firstDelayMs = 250, now = Date.now, wait = waitInTruth } = options;
  const stopping = new AbortController();
  let current: Running | null = await start();
  let delayMs = firstDelayMs;
  onPid(current.pid);

  const restart = async (): Promise<Running | null> => {
    while (!stopping.signal.aborted) {
      log.warn(
        { child: name, delay_ms: delayMs },
        `${name} ended, starting it again in ${delayMs / 1_000} s`,
      );
      await wait(delayMs, stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted) break;
      delayMs = Math.min(delayMs * 2, LONGEST_DELAY_MS);
      try {
        return await start();
      } catch (error) {
        log.error({ child: name, err: error }, `${name} does not start: ${(error as Error).message}`);
      }
    }
    return null;
  };

  const watch = async () => {
    while (current !== null) {
      const began = now();
      await current.ended;
      onPid(null);
      if (stopping.signal.aborted) return;
      if (now() - began > STEADY_MS) delayMs = firstDelayMs;
      current = await restart();
      if (current === null) return;
      onPid(current.pid);
      log.info({ child: name, child_pid: current.pid }, `${name} runs again`);
      if (stopping.signal.aborted) await current.stop();
    }
  };
  const watching = watch();

  return {
    async stop() {
      stopping.abort();
      await current?.stop();
      await watching;
    },
  };
}
