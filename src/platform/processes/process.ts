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
  /** SQL condition: whether the process owns any such work. @param id SQL for an id of `processes`, with its table */
  ownedSql(id: string): string;
  /** Takes back the work of a dead process, inside the reaper's transaction. */
  recover(client: Queryable, processId: number): Promise<void>;
  /** The channel to wake after a recovery. */
  wakes: WakeChannel;
}

/**
 * SQL condition: whether the process owns no work. The row of a process that owns work stays until the reaper has
 * recovered that work.
 * @param id SQL for an id of `processes`, with its table
 */
export function ownsNothingSql(work: readonly ProcessWork[], id: string): string {
  return ['true', ...work.map(({ ownedSql }) => `not ${ownedSql(id)}`)].join(' and ');
}

export interface LiveProcess {
  /**
   * This process's id; null once it is closed. It changes after a reaper has declared this process dead. Until the
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
/** Limit of the thread's heap; it needs a tenth of this. */
const threadLimits = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 64 };

/**
 * The heartbeat's thread, which is restarted if it ends by itself. The heartbeat has its own thread so that a busy
 * event loop cannot delay it. The main thread sends it a pulse, so that a hung process does not count as alive.
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
      this.#log?.warn({ before: this.#id, now: id }, 'was declared dead, and is registered again');
    }
    this.#id = id;
  }

  #leaveFormerServer(lostAt: number): void {
    this.#log?.info('a different database server answers: replacing connections');
    this.#serverChanges?.emit('changed', lostAt);
  }

  async #restart(): Promise<void> {
    this.#thread = null;
    // Without an id, the first registration has failed, which the caller handles.
    if (this.#closed || this.#id === null) return;
    await sleep(THREAD_RESTART_MS);
    if (!this.#closed) await this.start().catch(() => undefined);
  }
}

/**
 * Registers this process: inserts a row in `processes`, which a heartbeat in its own thread marks as seen every second,
 * and takes a session advisory lock. If the connection breaks, the heartbeat connects again and keeps the id, unless a
 * reaper has declared this process dead in between. If a different server answers then, `options.serverChanges` emits
 * an event.
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
