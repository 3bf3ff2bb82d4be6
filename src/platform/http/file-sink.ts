import type { IncomingMessage } from 'node:http';
import { tooMany } from '../../errors.ts';
import type { AccountTenant } from '../auth/tenant.ts';
import { FairGate } from '../processes/fair-gate.ts';
import type { BlobKind, BlobStore } from '../storage/blob-store.ts';

const RETRY_SECONDS = 10;

/** Where the file of a request is stored while it arrives. */
export interface FileSink {
  store: Pick<BlobStore, 'putStream' | 'remove'>;
  kind: BlobKind;
  /**
   * Decides whether to accept the file, before any of it is read.
   * @returns a function to call when the request has ended
   * @throws AppError rate_limited if the account sends too many files at once; any error of `admit`
   */
  enter(tenant: AccountTenant, request: IncomingMessage): Promise<() => void>;
}

export interface FileSinkOptions extends Pick<FileSink, 'store' | 'kind'> {
  /** Maximum number of files that one account may send to one process at the same time. */
  maxAtOnce: number;
  /**
   * Refuses a file before it is read, for example because of a quota.
   * @param bytes `Content-Length` of the whole request; null if the client gives none
   * @throws AppError
   */
  admit?: (tenant: AccountTenant, bytes: number | null) => Promise<void>;
}

export function createFileSink({ store, kind, maxAtOnce, admit }: FileSinkOptions): FileSink {
  const gate = new FairGate({
    slots: Infinity,
    perKey: maxAtOnce,
    maxWaiting: 0,
    refusal: () => tooMany(`an account sends at most ${maxAtOnce} files at once`, RETRY_SECONDS),
  });
  return {
    store,
    kind,
    async enter(tenant, request) {
      const leave = await gate.enter(tenant.accountId);
      try {
        const length = request.headers['content-length'];
        await admit?.(tenant, length === undefined ? null : Number(length));
        return leave;
      } catch (error) {
        leave();
        throw error;
      }
    },
  };
}
