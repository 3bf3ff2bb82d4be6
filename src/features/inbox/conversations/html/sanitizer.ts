import { AppError, tooMany } from '../../../../errors.ts';
import { FairGate } from '../../../../platform/processes/fair-gate.ts';
import {
  createThreadPool,
  ThreadLostError,
  ThreadTimeoutError,
  ThreadUnavailableError,
} from '../../../../platform/processes/thread-pool.ts';
import type { SanitizeJob, SanitizeReply } from './sanitize-thread.ts';

/** Two threads. One account occupies at most one of them. */
const THREADS = 2;
const PER_ACCOUNT = 1;
const MAX_WAITING = 20;
const WAIT_MS = 10_000;
const RETRY_SECONDS = 5;
/** The largest HTML takes about half a second. */
const LIMIT_MS = 5_000;
const MAX_HEAP_MB = 256;

/** Makes the HTML of mail harmless, in threads. */
export interface HtmlSanitizer {
  /**
   * @param images paths of the images in the mail that may be shown, by content id
   * @returns null if the HTML is too large or takes too long
   * @throws AppError rate_limited if too much HTML of the account waits; unavailable if there is no thread
   */
  sanitize(accountId: number, html: string, images: ReadonlyMap<string, string>): Promise<string | null>;
  close(): Promise<void>;
}

const refusal = () =>
  tooMany(
    `too many messages are being read at once: ${PER_ACCOUNT + MAX_WAITING} of an account`,
    RETRY_SECONDS,
  );

export function createHtmlSanitizer(): HtmlSanitizer {
  const entry = new URL('sanitize-thread.ts', import.meta.url);
  const pool = createThreadPool<SanitizeJob, SanitizeReply>({
    entry,
    threads: THREADS,
    limitMs: () => LIMIT_MS,
    maxHeapMb: MAX_HEAP_MB,
  });
  const gate = new FairGate({
    slots: THREADS,
    perKey: PER_ACCOUNT,
    maxWaiting: MAX_WAITING,
    waitMs: WAIT_MS,
    refusal,
  });
  async function run(job: SanitizeJob): Promise<string | null> {
    try {
      return (await pool.run(job)).html;
    } catch (error) {
      if (error instanceof ThreadTimeoutError || error instanceof ThreadLostError) return null;
      if (!(error instanceof ThreadUnavailableError)) throw error;
      throw new AppError('unavailable', 'the message cannot be shown at the moment', { cause: error });
    }
  }
  return {
    sanitize: (accountId, html, images) => gate.run(accountId, () => run({ html, images })),
    close: () => pool.close(),
  };
}
