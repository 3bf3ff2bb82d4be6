/**
 * Prepares large contents in threads. Converting and encoding one may take a second, and meanwhile the event loop of
 * the sender must serve its connections and the mail of all other accounts.
 */
import {
  createThreadPool,
  ThreadLostError,
  ThreadTimeoutError,
} from '../../../platform/processes/thread-pool.ts';
import { InvalidMessageError } from './header-fields.ts';
import type { EmailContent, PreparedContent } from './message.ts';
import type { PrepareJob, ThreadReply } from './prepare-thread.ts';
import type { PreparedWhole, WholeContent } from './whole.ts';

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
  /** The same for a letter. */
  prepareWhole(content: WholeContent): Promise<PreparedWhole>;
  /** Ends the threads. Pending calls are rejected. */
  close(): Promise<void>;
}

export interface PreparePoolOptions {
  threads?: number;
  /** How long a thread may work on one content before it is ended. */
  limitMs?: number;
  /** The file that the threads run. */
  entry?: URL;
}

const THREADS = 2;
const LIMIT_MS = 5_000;
const MAX_HEAP_MB = 512;

function toPrepared(reply: Extract<ThreadReply, { remainder: unknown }>): PreparedContent {
  const { smtpUtf8, opening, remainder, signed, tracked } = reply;
  const { buffer, byteOffset, byteLength } = remainder;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  return { smtpUtf8, opening, remainder: bytes, signed: () => signed, tracked };
}

/** Translates the failure of a thread into an error of the content that it was preparing. */
function errorOf(error: unknown): unknown {
  if (error instanceof ThreadTimeoutError) {
    return new PrepareTimeoutError(`the content could not be composed: ${error.message}`);
  }
  if (error instanceof ThreadLostError) {
    return new InvalidMessageError(`the content could not be composed: ${error.message}`);
  }
  return error;
}

export function createPreparePool(options: PreparePoolOptions = {}): PreparePool {
  const { threads = THREADS, limitMs = LIMIT_MS } = options;
  const entry = options.entry ?? new URL('./prepare-thread.ts', import.meta.url);
  const pool = createThreadPool<PrepareJob, ThreadReply>({
    entry,
    threads,
    limitMs: () => limitMs,
    maxHeapMb: MAX_HEAP_MB,
  });
  async function run(job: PrepareJob) {
    const reply = await pool.run(job).catch((error: unknown) => {
      throw errorOf(error);
    });
    if ('error' in reply) throw new InvalidMessageError(reply.error);
    return reply;
  }

  return {
    prepare: async (content) =>
      toPrepared((await run(content)) as Extract<ThreadReply, { remainder: unknown }>),
    prepareWhole: async (content) => (await run(content)) as PreparedWhole,
    close: () => pool.close(),
  };
}
