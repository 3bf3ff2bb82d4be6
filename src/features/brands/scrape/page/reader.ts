/** Reads what websites contain, in threads: a page can take neither the process's time nor its memory. */
import {
  createThreadPool,
  type ThreadPool,
  ThreadLostError,
  ThreadTimeoutError,
} from '../../../../platform/processes/thread-pool.ts';
import type { JobName, Jobs, ThreadJob, ThreadReply } from './jobs.ts';

export interface PageReader {
  /**
   * Reads something in a thread.
   * @returns null if it takes too long or too much memory, or cannot be read at all
   * @throws ThreadUnavailableError, which says nothing about the page
   */
  read<Name extends JobName>(name: Name, job: Jobs[Name]['job']): Promise<Jobs[Name]['reply'] | null>;
  /** Call it once for each {@link open}. Threads that nobody uses are ended: each takes about 100 MB. */
  close(): Promise<void>;
}

export interface PageReaders {
  open(): PageReader;
  close(): Promise<void>;
}

export interface PageReaderOptions {
  threads?: number;
  /** Ends a thread that has worked on one part of a website for this long. */
  limitMs?: number;
  maxHeapMb?: number;
}

const THREADS = 2;
/** The largest pages and stylesheets take about a second on a machine that is not busy. */
const LIMIT_MS = 10_000;
const MAX_HEAP_MB = 256;

/** Shares a few threads between all scrapes of a process. */
export function createPageReaders(options: PageReaderOptions = {}): PageReaders {
  const { threads = THREADS, limitMs = LIMIT_MS, maxHeapMb = MAX_HEAP_MB } = options;
  let pool: ThreadPool<ThreadJob, ThreadReply> | null = null;
  let users = 0;

  async function end(): Promise<void> {
    const ended = pool;
    pool = null;
    await ended?.close();
  }

  function open(): PageReader {
    const used = (pool ??= createThreadPool({
      entry: new URL('./page-thread.ts', import.meta.url),
      threads,
      maxHeapMb,
      limitMs: () => limitMs,
    }));
    users += 1;
    return {
      async read(name, job) {
        try {
          const reply = await used.run({ name, ...job } as ThreadJob);
          return 'value' in reply ? (reply.value as never) : null;
        } catch (error) {
          if (error instanceof ThreadTimeoutError || error instanceof ThreadLostError) return null;
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
