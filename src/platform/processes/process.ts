import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { type DatabaseOptions, type ServerChanges, sessionSettings } from '../db/database.ts';
import type { Queryable } from '../db/queryable.ts';
import type { WakeChannel } from '../db/wake.ts';
import type { HeartbeatSettings } from './heartbeat.ts';
import type { HeartbeatReport } from './heartbeat-thread.ts';

/** Work that a process may own, such as claims, and its recovery after the process dies. */
export interface ProcessWork {
  /**
   * SQL condition: whether the process owns any.
   * @param id SQL for an id of `processes`, with its table
   */
  ownedSql(id: string): string;
  /** Takes back the work of a dead process, inside the reaper's transaction. */
  recover(client: Queryable, processId: number): Promise<void>;
  /** Woken after a recovery. */
  wakes: WakeChannel;
}

/**
 * SQL condition: whether the process owns nothing. The row of a process that owns something stays until the reaper has
 * recovered its work.
 * @param id SQL for an id of `processes`, with its table
 */
export function ownsNothingSql(work: readonly ProcessWork[], id: string): string {
  return ['true', ...work.map(({ ownedSql }) => `not ${ownedSql(id)}`)].join(' and ');
}

export interface LiveProcess {
  /**
   * This process's id; null once it is closed. It changes after another process has taken this one for dead. Until this
   * process notices that, it has the old id, under which it can neither claim nor intend.
   */
  id(): number | null;
  /** Removes the process's row, unless it still owns work. */
  close(): Promise<void>;
}

const threadFile = new URL('./heartbeat-thread.ts', import.meta.url);
const PULSE_MS = 1_000;
/** An event loop that was blocked for a minute is hung: other processes take over its work. */
const MAX_BEATS_WITHOUT_PULSE = 60;
const THREAD_RESTART_MS = 250;
const CLOSE_LIMIT_MS = 5_000;
/** Limit of the thread's heap, of which it needs a tenth. */
const threadLimits = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 64 };

/**
 * The heartbeat's thread, which is restarted if it ends by itself. The heartbeat has a thread of its own so that a busy
 * event loop cannot delay it. The main thread gives it a pulse: a process that hangs must not count as alive.
 */
class ThreadedProcess implements LiveProcess {
  readonly #settings: HeartbeatSettings;
  readonly #log: Logger | undefined;
  readonly #serverChanges: ServerChanges | undefined;
  readonly #pulsing: NodeJS.Timeout;
  #id: number | null = null;
  #thread: Worker | null = null;
  #closed = false;

  constructor(
    settings: HeartbeatSettings,
    log: Logger | undefined,
    serverChanges: ServerChanges | undefined,
  ) {
    this.#settings = settings;
    this.#serverChanges = serverChanges;
    this.#log = log;
    const pulse = new Int32Array(settings.pulse);
    this.#pulsing = setInterval(() => Atomics.add(pulse, 0, 1), PULSE_MS).unref();
  }

  id(): number | null {
    return this.#closed ? null : this.#id;
  }

  /** Resolves when the process is registered. @throws the error of its first connection */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      const thread = new Worker(threadFile, {
        workerData: { ...this.#settings, id: this.#id },
        resourceLimits: threadLimits,
      });
      this.#thread = thread;
      thread.on('message', (report: HeartbeatReport) => {
        if ('failed' in report) {
          const { message, code } = report.failed;
          return reject(Object.assign(new Error(message), { code }));
        }
        this.#setId(report.id);
        if (report.formerServerLostAt !== null) this.#leaveFormerServer(report.formerServerLostAt);
        resolve();
      });
      thread.on('error', (error: Error) => {
        this.#log?.error({ err: error }, 'the heartbeat failed');
        reject(error);
      });
      thread.on('exit', () => void this.#restart());
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#pulsing);
    const thread = this.#thread;
    if (!thread) return;
    const ended = new Promise((done) => thread.once('exit', done));
    thread.postMessage('stop');
    await Promise.race([ended, sleep(CLOSE_LIMIT_MS, undefined, { ref: false })]);
    await thread.terminate();
  }

  #setId(id: number): void {
    if (this.#id !== null && this.#id !== id) {
      this.#log?.warn({ before: this.#id, now: id }, 'was taken for dead, and is registered again');
    }
    this.#id = id;
  }

  #leaveFormerServer(lostAt: number): void {
    this.#log?.info('another database server answers: replacing connections');
    this.#serverChanges?.emit('changed', lostAt);
  }

  async #restart(): Promise<void> {
    this.#thread = null;
    // Without an id, the first registration failed, which its caller handles.
    if (this.#closed || this.#id === null) return;
    await sleep(THREAD_RESTART_MS);
    if (!this.#closed) await this.start().catch(() => undefined);
  }
}

/**
 * Makes this process known: a row in `processes`, which a heartbeat in a thread of its own marks as seen every second,
 * and a session advisory lock. If the connection breaks, the heartbeat connects again and keeps its id, unless a reaper
 * took this process for dead in between. If another server answers then, `options.serverChanges` emits it.
 * @param work all work that a process may own; `close()` leaves the row to the reaper if any is left
 * @throws the error of the first connection
 */
export async function registerProcess(
  options: DatabaseOptions,
  role: string,
  work: readonly ProcessWork[],
  log?: Logger,
): Promise<LiveProcess> {
  const live = new ThreadedProcess(
    {
      connection: sessionSettings(options),
      role,
      host: os.hostname(),
      pid: process.pid,
      id: null,
      deleteIfIdleSql: `delete from processes p where p.id = $1 and ${ownsNothingSql(work, 'p.id')}`,
      pulse: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
      maxBeatsWithoutPulse: MAX_BEATS_WITHOUT_PULSE,
    },
    log,
    options.serverChanges,
  );
  try {
    await live.start();
  } catch (error) {
    await live.close();
    throw error;
  }
  return live;
}
