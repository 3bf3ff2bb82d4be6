import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';

/** A process that runs. */
export interface Running {
  readonly pid: number;
  /** Resolves when the process has ended, for any reason. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

interface ManagedOptions {
  name: string;
  /** Starts the process; resolves when it is ready. */
  start: () => Promise<Running>;
  /** Called with the process id after each start, and with null after each end. */
  onPid: (pid: number | null) => void;
  log: Logger;
  /** The delay before the first restart; doubles each time. */
  firstDelayMs?: number;
  /** The longest delay; half a minute by default. */
  maxDelayMs?: number;
  /** A clock in milliseconds and a way to wait by it, for tests. */
  now?: () => number;
  wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** A process that is restarted whenever it ends, until it is stopped. */
export interface Managed {
  stop(): Promise<void>;
}

const realWait = (ms: number, signal: AbortSignal) => delay(ms, undefined, { signal });

const MAX_DELAY_MS = 30_000;
/** A process that ran this long is restarted with the first delay again. */
const STEADY_MS = 10_000;

/**
 * Starts a process and keeps it running: restarts it with growing delays.
 * @throws the error of the first start; later starts log their errors and are retried
 */
export async function keepRunning(options: ManagedOptions): Promise<Managed> {
  const { name, start, onPid, log, firstDelayMs = 250, maxDelayMs = MAX_DELAY_MS } = options;
  const { now = Date.now, wait = realWait } = options;
  const stopping = new AbortController();
  let current: Running | null = await start();
  let delayMs = firstDelayMs;
  onPid(current.pid);

  const restart = async (): Promise<Running | null> => {
    while (!stopping.signal.aborted) {
      log.warn({ child: name, delay_ms: delayMs }, `${name} ended, restarting it in ${delayMs / 1_000} s`);
      await wait(delayMs, stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted) break;
      delayMs = Math.min(delayMs * 2, maxDelayMs);
      try {
        return await start();
      } catch (error) {
        log.error({ child: name, err: error }, `${name} did not start: ${(error as Error).message}`);
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
      if (now() - began >= STEADY_MS) delayMs = firstDelayMs;
      current = await restart();
      if (current === null) return;
      onPid(current.pid);
      log.info({ child: name, child_pid: current.pid }, `${name} restarted`);
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
