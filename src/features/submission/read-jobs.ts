/** Reads submitted mail in threads, so that a mail can exhaust neither the process's time nor its memory. */
import { SubmissionRefusal, type SpooledMail } from '../../delivery/wire/submission/port.ts';
import { AppError } from '../../errors.ts';
import { FairGate } from '../../platform/processes/fair-gate.ts';
import {
  createThreadPool,
  ThreadLostError,
  ThreadTimeoutError,
} from '../../platform/processes/thread-pool.ts';
import type { ReadJob, ReadReply, SubmittedParts } from './jobs.ts';

export interface MailReaderOptions {
  /** CARILLON_HOME. */
  home: string;
  /** As for `checkFile`. */
  blocked: ReadonlySet<string>;
  /** Maximum size of the files of a mail that is rebuilt, together. */
  maxFileBytes: number;
  /** The module that the threads run. */
  entry?: URL;
  /** For a small mail, in ms. */
  limitMs?: number;
}

export interface SubmissionReader {
  /**
   * @throws SubmissionRefusal if the mail cannot be sent
   * @throws the error of the storage, ThreadUnavailableError, or AppError `unavailable`: try again later
   */
  read(accountId: number, mail: SpooledMail): Promise<SubmittedParts>;
  close(): Promise<void>;
}

const THREADS = 2;
const LIMIT_MS = 5_000;
const MAX_HEAP_MB = 96;
/** A scan makes many small objects that are garbage at once. */
const MAX_YOUNG_HEAP_MB = 8;
const MEGABYTE = 1024 * 1024;
/** Added for each MB of a mail, because it is read from the storage and its files are stored. */
const STORAGE_MS_PER_MB = 200;
/** Larger mails are read one at a time, so that the process needs memory for one only. */
const BIG_MAIL_BYTES = 4 * MEGABYTE;

const refused = (reason: string, cause?: unknown) => new SubmissionRefusal(554, '5.6.0', reason, { cause });

/** Says whether the mail is to blame for an error of the pool. A storage that takes long is not the mail's fault. */
function blamed(error: unknown): unknown {
  if (error instanceof ThreadLostError) return refused('reading the mail takes too much memory', error);
  if (error instanceof ThreadTimeoutError) {
    return new AppError('unavailable', 'reading the mail took too long; try again', { cause: error });
  }
  return error;
}

export function createSubmissionReader(options: MailReaderOptions): SubmissionReader {
  const { home, blocked, maxFileBytes, limitMs = LIMIT_MS } = options;
  const pool = createThreadPool<ReadJob, ReadReply>({
    entry: options.entry ?? new URL('./read-thread.ts', import.meta.url),
    threads: THREADS,
    maxHeapMb: MAX_HEAP_MB,
    maxYoungHeapMb: MAX_YOUNG_HEAP_MB,
    limitMs: ({ size }) => limitMs + Math.ceil(size / MEGABYTE) * STORAGE_MS_PER_MB,
  });
  // The threads go to the accounts in turn, however long the mails of one take.
  const turns = new FairGate({ slots: THREADS, perKey: THREADS });
  const bigMails = new FairGate({ slots: 1, perKey: 1 });

  async function run(job: ReadJob): Promise<SubmittedParts> {
    const reply = await turns
      .run(job.accountId, () => pool.run(job))
      .catch((error: unknown) => {
        throw blamed(error);
      });
    if ('refused' in reply) throw refused(reply.refused);
    if ('failed' in reply) throw new Error(`a submitted mail cannot be read: ${reply.failed}`);
    return reply.parts;
  }

  return {
    read(accountId, { bytes, blobKey, size }) {
      const job: ReadJob = { home, accountId, bytes, blobKey, size, blocked, maxFileBytes };
      return size > BIG_MAIL_BYTES ? bigMails.run(accountId, () => run(job)) : run(job);
    },
    close: () => pool.close(),
  };
}
