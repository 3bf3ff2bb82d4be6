/** Reads what websites contain in threads, so that a page can exhaust neither the process's time nor its memory. */
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
   * Runs a job in a thread when it is the account's turn.
   * @returns null if the job takes too long or too much memory, the content cannot be read at all, or the scrape has no
   *   time left
   * @throws ThreadUnavailableError, which says nothing about the page
   * @throws the reason of the scrape's signal
   */
  read<Name extends JobName>(name: Name, job: Jobs[Name]['job']): Promise<Jobs[Name]['reply'] | null>;
  /** Call it once for each {@link open}. Threads that no scrape uses are ended: each takes about 100 MB. */
  close(): Promise<void>;
}

/** The account that a page is read for, and how long it may take. */
export interface ReaderUse {
  accountId: number;
  /** Aborted when the scrape's time is over. The current job is then given up. */
  deadline: AbortSignal;
  /** Aborted when the scrape must end for another reason. */
  signal: AbortSignal;
}

export interface PageReaders {
  open(use: ReaderUse): PageReader;
  close(): Promise<void>;
}

export interface PageReaderOptions {
  /** One account gets at most all but one of them at a time. */
  threads?: number;
  /** Ends a thread that has worked on one part of a website for longer than this. */
  limitMs?: number;
  maxHeapMb?: number;
  /** The module that the threads run. */
  entry?: URL;
}

const THREADS = 2;
/** The largest pages and stylesheets take about a second on an idle machine. */
const LIMIT_MS = 10_000;
const MAX_HEAP_MB = 256;

/** Shares a few threads between all scrapes of a process. Accounts take turns in them. */
export function createPageReaders(options: PageReaderOptions = {}): PageReaders {
  const { threads = THREADS, limitMs = LIMIT_MS, maxHeapMb = MAX_HEAP_MB } = options;
  const entry = options.entry ?? new URL('./page-thread.ts', import.meta.url);
  const gate = new FairGate({ slots: threads, perKey: Math.max(1, threads - 1) });
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
