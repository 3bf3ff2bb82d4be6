/** Reads accepted mails in threads, so that a mail can exhaust neither the process's time nor its memory. */
import { FairGate } from '../../../platform/processes/fair-gate.ts';
import {
  createThreadPool,
  ThreadLostError,
  ThreadTimeoutError,
} from '../../../platform/processes/thread-pool.ts';
import { unauthenticated } from './authentication.ts';
import { stages, type ReadContents, type ReadHeader, type ReadJob, type ReadReply } from './jobs.ts';
import type { AcceptedMail, MailReader, ReadMail } from './mail.ts';

export interface MailReaderOptions {
  /** CARILLON_HOME, whose blobs the threads read and write. */
  home: string;
  threads?: number;
  /** Time limit for a small mail, in ms. */
  limitMs?: number;
  maxHeapMb?: number;
  /** The module that the threads run. */
  entry?: URL;
}

const THREADS = 2;
const LIMIT_MS = 5_000;
const MAX_HEAP_MB = 256;
const MEGABYTE = 1024 * 1024;
/** Added for each MB of a mail, because it is read from the storage and its attachments are stored. */
const STORAGE_MS_PER_MB = 200;
/** Larger mails are read one at a time, so that the process needs memory for one only. */
const BIG_MAIL_BYTES = 4 * MEGABYTE;

/** What is known of a mail whose header cannot be read either. */
function headerFromEnvelope({ envelopeFrom }: AcceptedMail): ReadHeader {
  return {
    internetId: null,
    referenceIds: [],
    from: envelopeFrom,
    senderKey: null,
    to: [],
    cc: [],
    replyTo: null,
    subject: null,
    autoSubmitted: envelopeFrom === '',
  };
}

function toReadMail({ header, body, digest, authentication, unreadable }: ReadContents): ReadMail {
  return {
    internetId: header.internetId,
    referenceIds: header.referenceIds,
    from: header.from,
    senderKey: header.senderKey,
    to: header.to,
    cc: header.cc,
    replyTo: header.replyTo,
    subject: header.subject,
    text: body?.text ?? null,
    html: body?.html ?? null,
    truncated: body?.truncated ?? false,
    autoSubmitted: header.autoSubmitted,
    attachments: body?.attachments ?? [],
    authentication,
    digest: Buffer.from(digest),
    suspicion: unreadable === null ? null : { reason: 'unreadable', detail: unreadable },
  };
}

/** Reads mails with a pool of threads. */
export function createMailReader(options: MailReaderOptions): MailReader {
  const { home, threads = THREADS, limitMs = LIMIT_MS, maxHeapMb = MAX_HEAP_MB } = options;
  const entry = options.entry ?? new URL('./mail-thread.ts', import.meta.url);
  const pool = createThreadPool<ReadJob, ReadReply>({
    entry,
    threads,
    maxHeapMb,
    limitMs: ({ size }) => limitMs + Math.ceil(size / MEGABYTE) * STORAGE_MS_PER_MB,
  });
  const bigMails = new FairGate({ places: 1, perKey: 1 });

  /** @returns why the mail itself made the thread fail, instead of contents */
  async function run(mail: AcceptedMail, part: ReadJob['part']): Promise<ReadContents | string> {
    const { accountId, rawKey, size, envelopeFrom } = mail;
    const stage = new Int32Array(new SharedArrayBuffer(4));
    try {
      const reply = await pool.run({ part, accountId, rawKey, size, home, envelopeFrom, stage });
      if ('failed' in reply) throw new Error(reply.failed);
      return reply;
    } catch (error) {
      if (error instanceof ThreadLostError) return 'reading the mail takes too much memory';
      const tookTime = error instanceof ThreadTimeoutError && Atomics.load(stage, 0) === stages.parsing;
      if (tookTime) return 'reading the mail takes too long';
      throw error;
    }
  }

  async function readFairly(mail: AcceptedMail): Promise<ReadMail> {
    const contents = await run(mail, 'contents');
    if (typeof contents !== 'string') return toReadMail(contents);
    const header = await run(mail, 'header');
    if (typeof header !== 'string') return toReadMail({ ...header, unreadable: contents });
    return toReadMail({
      header: headerFromEnvelope(mail),
      body: null,
      digest: Buffer.from(mail.rawKey),
      authentication: unauthenticated(),
      unreadable: contents,
    });
  }

  return {
    read(mail) {
      if (mail.size <= BIG_MAIL_BYTES) return readFairly(mail);
      return bigMails.run(mail.accountId, () => readFairly(mail));
    },
    close: () => pool.close(),
  };
}
