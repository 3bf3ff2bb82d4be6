/** Gives the jobs of mails to the threads. */
import { FairGate } from '../../../platform/processes/fair-gate.ts';
import {
  createThreadPool,
  ThreadLostError,
  ThreadTimeoutError,
} from '../../../platform/processes/thread-pool.ts';
import { stages, type JobPart, type ReadJob, type ReadReply, type Replies } from './jobs.ts';
import { type AcceptedMail, SlowMailError } from './mail.ts';

/** The mail itself made the thread fail. The message says how. */
export class UnreadableMailError extends Error {}

export interface MailJobs {
  /**
   * @throws UnreadableMailError; SlowMailError
   * @throws the error of the storage, or ThreadUnavailableError: try again later
   */
  run<Part extends JobPart>(part: Part, mail: AcceptedMail, details?: JobDetails): Promise<Replies[Part]>;
  close(): Promise<void>;
}

export type JobDetails = Partial<Pick<ReadJob, 'senderKey' | 'answers' | 'last'>>;

export interface MailJobsOptions {
  /** CARILLON_HOME, whose blobs the threads read and write. */
  home: string;
  threads?: number;
  /** Time limit for a small mail, in ms. */
  limitMs?: number;
  /** Of each thread. */
  maxHeapMb?: number;
  /** The module that the threads run. */
  entry?: URL;
}

const THREADS = 2;
const LIMIT_MS = 5_000;
const MAX_HEAP_MB = 96;
/** A scan makes many small objects that are garbage at once. */
const MAX_YOUNG_HEAP_MB = 8;
const MEGABYTE = 1024 * 1024;
/** Added for each MB of a mail, because it is read from the storage and its attachments are stored. */
const STORAGE_MS_PER_MB = 200;
/** Larger mails are read one at a time, so that the process needs memory for one only. */
const BIG_MAIL_BYTES = 4 * MEGABYTE;

/** Says whether the mail is to blame for an error of the pool. A storage that takes long is not the mail's fault. */
function blamed(error: unknown, stage: number): unknown {
  if (error instanceof ThreadLostError) {
    return new UnreadableMailError('reading the mail takes too much memory', { cause: error });
  }
  if (error instanceof ThreadTimeoutError && stage === stages.parsing) {
    return new UnreadableMailError('reading the mail takes too long', { cause: error });
  }
  if (error instanceof ThreadTimeoutError && stage === stages.storing) {
    return new SlowMailError('storing the attachments of the mail takes too long', { cause: error });
  }
  return error;
}

export function createMailJobs(options: MailJobsOptions): MailJobs {
  const { home, threads = THREADS, limitMs = LIMIT_MS, maxHeapMb = MAX_HEAP_MB } = options;
  const entry = options.entry ?? new URL('./mail-thread.ts', import.meta.url);
  const pool = createThreadPool<ReadJob, ReadReply>({
    entry,
    threads,
    maxHeapMb,
    maxYoungHeapMb: MAX_YOUNG_HEAP_MB,
    limitMs: ({ mail }) => limitMs + Math.ceil(mail.size / MEGABYTE) * STORAGE_MS_PER_MB,
  });
  // The threads go to the accounts in turn, however long the mails of one take.
  const turns = new FairGate({ slots: threads, perKey: threads });
  const bigMails = new FairGate({ slots: 1, perKey: 1 });

  async function runNow(job: ReadJob): Promise<Exclude<ReadReply, { failed: string }>> {
    const reply = await turns
      .run(job.mail.accountId, () => pool.run(job))
      .catch((error: unknown) => {
        throw blamed(error, Atomics.load(job.stage, 0));
      });
    if ('failed' in reply) {
      // Nothing but the mail is read while it is parsed.
      const isMails = Atomics.load(job.stage, 0) === stages.parsing;
      throw isMails
        ? new UnreadableMailError(`the mail cannot be read: ${reply.failed}`)
        : new Error(reply.failed);
    }
    return reply;
  }

  return {
    async run(part, mail, { senderKey = null, answers = [], last = false } = {}) {
      const stage = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
      const job = { part, mail, home, senderKey, answers, last, stage };
      const isBig = part !== 'spf' && mail.size > BIG_MAIL_BYTES;
      const reply = isBig ? await bigMails.run(mail.accountId, () => runNow(job)) : await runNow(job);
      return reply as never;
    },
    close: () => pool.close(),
  };
}
