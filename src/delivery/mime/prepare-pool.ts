/**
 * Prepares large contents in threads. A content may take a second to convert and encode. Meanwhile the event loop of
 * the sender must serve its connections and the mail of all other accounts.
 */
import { Worker } from 'node:worker_threads';
import { InvalidMessageError } from './header-fields.ts';
import type { EmailContent, PreparedContent } from './message.ts';
import type { ThreadReply } from './prepare-thread.ts';

/** No thread could be started. This says nothing about the content. */
export class ThreadUnavailableError extends Error {}

/** The content took too long, because of what it contains or because the machine is busy. */
export class PrepareTimeoutError extends Error {}

export interface PreparePool {
  /**
   * Prepares a content in a thread. Contents wait in order if all threads are busy.
   * @throws InvalidMessageError if the content cannot become an email, or takes too much memory
   * @throws PrepareTimeoutError
   * @throws ThreadUnavailableError
   */
  prepare(content: EmailContent): Promise<PreparedContent>;
  /** Ends the threads. What is still waiting is rejected. */
  close(): Promise<void>;
}

export interface PreparePoolOptions {
  threads?: number;
  /** Ends a thread that has worked on one content for this long. */
  limitMs?: number;
  /** The code of the threads. */
  entry?: URL;
}

const THREADS = 2;
const LIMIT_MS = 5_000;
/** Time is counted in steps, so that a pause of the whole machine counts as one step only. */
const STEPS = 20;
const MAX_HEAP_MB = 512;

interface Job {
  content: EmailContent;
  resolve(prepared: PreparedContent): void;
  reject(error: Error): void;
}

function toPrepared(reply: Exclude<ThreadReply, { error: string }>): PreparedContent {
  const { smtpUtf8, opening, remainder, signed, tracked } = reply;
  const { buffer, byteOffset, byteLength } = remainder;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  return { smtpUtf8, opening, remainder: bytes, signed: () => signed, tracked };
}

/** One thread, started when it gets its first job and again after it was ended. */
class PrepareThread {
  #worker: Worker | null = null;
  #ready = false;
  #job: Job | null = null;
  #timer: NodeJS.Timeout | undefined;
  readonly #entry: URL;
  readonly #limitMs: number;
  readonly #onFree: () => void;

  constructor(entry: URL, limitMs: number, onFree: () => void) {
    this.#entry = entry;
    this.#limitMs = limitMs;
    this.#onFree = onFree;
  }

  get busy(): boolean {
    return this.#job !== null;
  }

  run(job: Job): void {
    this.#job = job;
    this.#worker ??= this.#start();
    this.#worker.ref();
    if (this.#ready) this.#give(job);
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#lose(new ThreadUnavailableError('the sender is stopping'));
    await worker?.terminate();
  }

  #start(): Worker {
    this.#ready = false;
    const worker = new Worker(this.#entry, { resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } });
    worker.on('message', (message: 'ready' | ThreadReply) => {
      if (worker !== this.#worker) return;
      if (message === 'ready') {
        this.#ready = true;
        if (this.#job) this.#give(this.#job);
      } else this.#finish(message);
    });
    const lost = (reason: string) => {
      if (worker !== this.#worker) return;
      this.#lose(
        this.#ready
          ? new InvalidMessageError(`the content could not be composed: ${reason}`)
          : new ThreadUnavailableError(`a thread could not be started: ${reason}`),
      );
    };
    worker.on('error', (error) => lost((error as Error).message));
    worker.on('exit', (code) => lost(`the thread ended with ${code}`));
    return worker;
  }

  #give(job: Job): void {
    this.#worker?.postMessage(job.content);
    let steps = 0;
    this.#timer = setInterval(() => {
      steps += 1;
      if (steps < STEPS) return;
      const worker = this.#worker;
      this.#lose(new PrepareTimeoutError(`the content takes longer than ${this.#limitMs} ms to compose`));
      void worker?.terminate();
    }, this.#limitMs / STEPS);
  }

  #finish(reply: ThreadReply): void {
    const job = this.#free();
    // An idle thread does not keep the process alive.
    this.#worker?.unref();
    if ('error' in reply) job?.reject(new InvalidMessageError(reply.error));
    else job?.resolve(toPrepared(reply));
    this.#onFree();
  }

  /** Forgets the thread; the next job starts another. */
  #lose(error: Error): void {
    this.#worker = null;
    this.#free()?.reject(error);
    this.#onFree();
  }

  #free(): Job | null {
    clearInterval(this.#timer);
    const job = this.#job;
    this.#job = null;
    return job;
  }
}

export function createPreparePool(options: PreparePoolOptions = {}): PreparePool {
  const { threads = THREADS, limitMs = LIMIT_MS } = options;
  const entry = options.entry ?? new URL('./prepare-thread.ts', import.meta.url);
  const waiting: Job[] = [];
  const startNext = () => {
    const free = pool.find((thread) => !thread.busy);
    const job = free && waiting.shift();
    if (job) free.run(job);
  };
  const pool = Array.from({ length: threads }, () => new PrepareThread(entry, limitMs, startNext));
  return {
    prepare: (content) =>
      new Promise((resolve, reject) => {
        waiting.push({ content, resolve, reject });
        startNext();
      }),
    async close() {
      for (const job of waiting.splice(0)) job.reject(new ThreadUnavailableError('the sender is stopping'));
      await Promise.all(pool.map((thread) => thread.close()));
    },
  };
}
