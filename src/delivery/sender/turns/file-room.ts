import type { Claim } from '../../ledger/ownership/claims.ts';
import { fileBytesOf, isLong } from './batch-cutter.ts';
import type { ByteBudget } from './byte-budget.ts';

const MIB = 1_048_576;
/** What a connection holds of a message that it streams: pieces of its files, and what the socket has not sent. */
const STREAMED_BYTES = 2 * MIB;
/** How often a file is in memory while it is handed over as a whole: as bytes, in base64, in the request and its copies. */
const COPIES = 5;

/** Bounds the memory for files of a provider's batches, and how many of its connections these keep busy. */
export interface FileRoom {
  /** Whether files of these bytes, not folded, may be read. */
  hasRoom(bytes: number): boolean;
  /** Whether another batch may keep a connection busy for long: at most half of the connections, but always one. */
  mayBeLong(): boolean;
  begin(batch: readonly Claim[]): void;
  /** Reports that a batch has ended. */
  end(batch: readonly Claim[]): void;
  /** Calls the listener whenever there is more room. @returns a function that removes the listener */
  onRoom(listener: () => void): () => void;
}

export const unboundedFiles: FileRoom = {
  hasRoom: () => true,
  mayBeLong: () => true,
  begin: () => undefined,
  end: () => undefined,
  onRoom: () => () => undefined,
};

/**
 * @param workers the provider's connections
 * @param streams whether the provider streams messages
 * @param budget of the process for files
 */
export function createFileRoom(workers: number, streams: boolean, budget: ByteBudget): FileRoom {
  const maxLong = Math.max(1, Math.floor(workers / 2));
  const held = (files: number) => (files === 0 ? 0 : streams ? STREAMED_BYTES : COPIES * files);
  const taken = new Map<readonly Claim[], number>();
  const long = new Set<readonly Claim[]>();
  return {
    hasRoom: (bytes) => bytes === 0 || budget.hasRoom(held(bytes)),
    mayBeLong: () => long.size < maxLong,
    begin(batch) {
      const bytes = held(fileBytesOf(batch));
      if (bytes === 0) return;
      taken.set(batch, bytes);
      budget.take(bytes);
      if (isLong(batch)) long.add(batch);
    },
    end(batch) {
      const bytes = taken.get(batch);
      if (bytes === undefined) return;
      taken.delete(batch);
      long.delete(batch);
      budget.giveBack(bytes);
    },
    onRoom: (listener) => budget.onRoom(listener),
  };
}
