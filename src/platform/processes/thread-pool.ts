/**
 * Threads for work that a client's text may make slow, so that the event loop can serve other requests meanwhile. A
 * thread works on one job at a time. It is ended if it takes too long or uses too much memory; the next job starts
 * another.
 */
import { type ResourceLimits, Worker } from 'node:worker_threads';

/** No thread could be started, or the pool is closed. This says nothing about the job. */
export class ThreadUnavailableError extends Error {}

/** The job took too long, because of what it contains or because the machine is busy. */
export class ThreadTimeoutError extends Error {}

/** The thread ended while it worked on the job, for example because it ran out of memory. */
export class ThreadLostError extends Error {}

export interface ThreadPool<Job, Reply> {
  /**
   * Gives a job to a thread. Jobs wait in order if all threads are busy.
   * @param signal cancels the job: a waiting job does not begin, and the thread of a running job is ended
   * @throws ThreadUnavailableError
   * @throws ThreadTimeoutError
   * @throws ThreadLostError
   * @throws the reason of `signal`
   */
  run(job: Job, signal?: AbortSignal): Promise<Reply>;
  /** Ends the threads. Waiting jobs are rejected. */
  close(): Promise<void>;
}

export interface ThreadPoolOptions<Job> {
  /** The code of the threads: posts `ready`, then one reply per job. */
  entry: URL;
  threads: number;
  /** Time limit of a job, in ms; its thread is ended after that. */
  limitMs: (job: Job) => number;
  maxHeapMb: number;
  /**
   * Memory for new objects, besides `maxHeapMb`; Node.js decides by default. With less, garbage is collected more often.
   */
  maxYoungHeapMb?: number;
}

/** The time limit is counted in steps, so that a pause of the whole machine counts as only one step. */
const STEPS = 20;

interface Waiting<Job, Reply> {
  job: Job;
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

/** One thread. It starts with its first job, and again after it was ended. */
class Thread<Job, Reply> {
  #worker: Worker | null = null;
  #ready = false;
  #current: Waiting<Job, Reply> | null = null;
  /** Whether the thread has received the current job. */
  #given = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #options: ThreadPoolOptions<Job>;
  readonly #onFree: () => void;

  constructor(options: ThreadPoolOptions<Job>, onFree: () => void) {
    this.#options = options;
    this.#onFree = onFree;
  }

  get busy(): boolean {
    return this.#current !== null;
  }

  run(waiting: Waiting<Job, Reply>): void {
    this.#current = waiting;
    this.#worker ??= this.#start();
    this.#worker.ref();
    if (this.#ready) this.#give(waiting.job);
  }

  /** Ends the job if it is the current one. Its thread is ended as well, unless it has yet to start. */
  abort(waiting: Waiting<Job, Reply>, reason: Error): void {
    if (this.#current !== waiting) return;
    if (this.#given) this.#end(reason);
    else this.#refuse(reason);
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#lose(new ThreadUnavailableError('the process is stopping'));
    await worker?.terminate();
  }

  #start(): Worker {
    this.#ready = false;
    const { entry, maxHeapMb, maxYoungHeapMb } = this.#options;
    const resourceLimits: ResourceLimits = { maxOldGenerationSizeMb: maxHeapMb };
    if (maxYoungHeapMb !== undefined) resourceLimits.maxYoungGenerationSizeMb = maxYoungHeapMb;
    const worker = new Worker(entry, { resourceLimits });
    worker.on('message', (message: 'ready' | Reply) => {
      if (worker !== this.#worker) return;
      if (message === 'ready') {
        this.#ready = true;
        if (this.#current) this.#give(this.#current.job);
      } else this.#finish(message);
    });
    const lost = (reason: string) => {
      if (worker !== this.#worker) return;
      this.#lose(
        this.#ready
          ? new ThreadLostError(reason)
          : new ThreadUnavailableError(`a thread could not be started: ${reason}`),
      );
    };
    worker.on('error', (error) => lost((error as Error).message));
    worker.on('exit', (code) => lost(`the thread ended with ${code}`));
    return worker;
  }

  #give(job: Job): void {
    this.#given = true;
    try {
      this.#worker?.postMessage(job);
    } catch (error) {
      // The job cannot be copied, for example because its lists are nested too deeply.
      this.#refuse(new ThreadLostError((error as Error).message));
      return;
    }
    const limitMs = this.#options.limitMs(job);
    let steps = 0;
    this.#timer = setInterval(() => {
      steps += 1;
      if (steps < STEPS) return;
      this.#end(new ThreadTimeoutError(`it takes longer than ${limitMs} ms`));
    }, limitMs / STEPS);
  }

  /** Rejects the current job, which the thread has not received. */
  #refuse(error: Error): void {
    this.#free()?.reject(error);
    this.#worker?.unref();
    this.#onFree();
  }

  #end(error: Error): void {
    const worker = this.#worker;
    this.#lose(error);
    void worker?.terminate();
  }

  #finish(reply: Reply): void {
    const finished = this.#free();
    // An idle thread does not keep the process alive.
    this.#worker?.unref();
    finished?.resolve(reply);
    this.#onFree();
  }

  /** Forgets the thread; the next job starts another. */
  #lose(error: Error): void {
    this.#worker = null;
    this.#free()?.reject(error);
    this.#onFree();
  }

  #free(): Waiting<Job, Reply> | null {
    clearInterval(this.#timer);
    const current = this.#current;
    this.#current = null;
    this.#given = false;
    return current;
  }
}

export function createThreadPool<Job, Reply>(options: ThreadPoolOptions<Job>): ThreadPool<Job, Reply> {
  const waiting: Waiting<Job, Reply>[] = [];
  const startNext = () => {
    const free = threads.find((thread) => !thread.busy);
    const next = free && waiting.shift();
    if (next) free.run(next);
  };
  const threads = Array.from({ length: options.threads }, () => new Thread<Job, Reply>(options, startNext));
  return {
    async run(job, signal) {
      signal?.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<Reply>();
      const entry = { job, resolve, reject };
      const abort = () => {
        const place = waiting.indexOf(entry);
        if (place >= 0) waiting.splice(place, 1);
        for (const thread of threads) thread.abort(entry, signal?.reason as Error);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', abort, { once: true });
      waiting.push(entry);
      startNext();
      try {
        return await promise;
      } finally {
        signal?.removeEventListener('abort', abort);
      }
    },
    async close() {
      for (const { reject } of waiting.splice(0)) {
        reject(new ThreadUnavailableError('the process is stopping'));
      }
      await Promise.all(threads.map((thread) => thread.close()));
    },
  };
}
