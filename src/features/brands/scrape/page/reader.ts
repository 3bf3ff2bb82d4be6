/** Reads what websites contain, in threads: a page can take neither the process's time nor its memory. */
import {
  createThreadPool,
  type ThreadPool,
  ThreadLostError,
  ThreadTimeoutError,
} from '../../../../platform/processes/thread-pool.ts';
import { FairGate } from '../../../../platform/processes/fair-gate.ts';
import type { JobName, Jobs, ThreadJob, ThreadReply } from './jobs.ts';

export interface PageReader {
  /**
   * Reads something in a thread, when the account's turn has come.
   * @returns null if it takes too long or too much memory, or cannot be read at all, or the scrape has no time left
   * @throws ThreadUnavailableError, which says nothing about the page
   * @throws the reason of the scrape's signal
   */
  read<Name extends JobName>(name: Name, job: Jobs[Name]['job']): Promise<Jobs[Name]['reply'] | null>;
  /** Call it once for each {@link open}. Threads that nobody uses are ended: each takes about 100 MB. */
  close(): Promise<void>;
}

/** For whom a page is read, and for how long. */
export interface ReaderUse {
  accountId: number;
  /** Aborted when the time of the scrape is over. What is being read then is given up. */
  deadline: AbortSignal;
  /** Aborted when the scrape is to end for another reason. */
  signal: AbortSignal;
}

export interface PageReaders {
  open(use: ReaderUse): PageReader;
  close(): Promise<void>;
}

export interface PageReaderOptions {
  /** One account has all but one of them at once. */
  threads?: number;
  /** Ends a thread that has worked on one part of a website for this long. */
  limitMs?: number;
  maxHeapMb?: number;
  /** The code of the threads. */
  entry?: URL;
}

const THREADS = 2;
/** The largest pages and stylesheets take about a second on a machine that is not busy. */
const LIMIT_MS = 10_000;
const MAX_HEAP_MB = 256;

/** Shares a few threads between all scrapes of a process. Accounts take turns in them. */
export function createPageReaders(options: PageReaderOptions = {}): PageReaders {
  const { threads = THREADS, limitMs = LIMIT_MS, maxHeapMb = MAX_HEAP_MB } = options;
  const entry = options.entry ?? new URL('./page-thread.ts', import.meta.url);
  const gate = new FairGate({ places: threads, perKey: Math.max(1, threads - 1) });
  let pool: ThreadPool<ThreadJob, ThreadReply> | null = null;
  let users = 0;

  async function end(): Promise<void> {
    const ended = pool;
    pool = null;
    await ended?.close();
  }

  function open({ accountId, deadline, signal }: ReaderUse): PageReader {
    const used = (pool ??= createThreadPool({ entry, threads, maxHeapMb, limitMs: () => limitMs }));
    const over = AbortSignal.any([deadline, signal]);
    users += 1;
    return {
      async read(name, job) {
        try {
          const run = () => used.run({ name, ...job } as ThreadJob, over);
          const reply = await gate.run(accountId, run, { signal: over });
          return 'value' in reply ? (reply.value as never) : null;
        } catch (error) {
          signal.throwIfAborted();
          const isLost = error instanceof ThreadTimeoutError || error instanceof ThreadLostError;
          if (isLost || deadline.aborted) return null;
          throw error;
        }
      },
      async close() {
        users -= 1;
        if (users === 0) await end();
      },
    };
  }

  return { open, close: end };
}
