import { Overload } from '../../errors.ts';
import { FairGate } from '../../platform/processes/fair-gate.ts';
import {
  createThreadPool,
  ThreadLostError,
  ThreadTimeoutError,
  ThreadUnavailableError,
} from '../../platform/processes/thread-pool.ts';
import { type DecodedFile, decodeFile, type EncodedFile } from './decode.ts';
import type { DecodeJob, DecodeReply } from './decode-thread.ts';

/** Requests with less base64 than this are decoded at once: that takes about as long as parsing them. */
const SMALL_CHARACTERS = 256 * 1024;
/**
 * Requests that are decoded at the same time. Each has its files three times in memory: as text, as bytes, and folded.
 */
const SLOTS = 2;
const PER_ACCOUNT = 1;
const MAX_WAITING = 4;
const WAIT_MS = 5_000;
const RETRY_AFTER_SECONDS = 1;
/** The largest request takes about a tenth of a second. */
const LIMIT_MS = 10_000;
const MAX_HEAP_MB = 96;

/** Decodes the files of requests, large ones in threads. */
export interface FileDecoder {
  /**
   * @param blocked as for `checkFile`
   * @throws Overload if too many large files are being decoded
   */
  decode(
    accountId: number,
    files: readonly EncodedFile[],
    blocked: ReadonlySet<string>,
  ): Promise<DecodedFile[]>;
  close(): Promise<void>;
}

const overload = () => new Overload('too many files are being decoded; try again', RETRY_AFTER_SECONDS);

export function createFileDecoder(): FileDecoder {
  const pool = createThreadPool<DecodeJob, DecodeReply>({
    entry: new URL('decode-thread.ts', import.meta.url),
    threads: SLOTS,
    limitMs: () => LIMIT_MS,
    maxHeapMb: MAX_HEAP_MB,
  });
  const gate = new FairGate({
    slots: SLOTS,
    perKey: PER_ACCOUNT,
    maxWaiting: MAX_WAITING,
    waitMs: WAIT_MS,
    refusal: overload,
  });

  async function inThread(job: DecodeJob): Promise<DecodedFile[]> {
    try {
      return (await pool.run(job)).files;
    } catch (error) {
      const isBusy = [ThreadUnavailableError, ThreadTimeoutError, ThreadLostError].some(
        (kind) => error instanceof kind,
      );
      throw isBusy ? overload() : error;
    }
  }

  return {
    async decode(accountId, files, blocked) {
      const characters = files.reduce((sum, { content }) => sum + content.length, 0);
      if (characters > SMALL_CHARACTERS)
        return gate.run(accountId, () => inThread({ files: [...files], blocked }));
      const decoded: DecodedFile[] = [];
      for (const file of files) decoded.push(await decodeFile(file, blocked));
      return decoded;
    },
    close: () => pool.close(),
  };
}
