import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';

/** Where files are kept that somebody uploaded or that we made: whole, by key, never changed. */
export interface BlobStore {
  /**
   * Keep `bytes` under `key`. Once this resolves they survive a crash; before, nobody sees a part of them.
   * @param key from {@link newBlobKey}
   */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** @returns null where nothing is kept under `key` */
  open(key: string): Promise<Blob | null>;
  /** Remove what is kept under `key`, if anything. */
  remove(key: string): Promise<void>;
}

export interface Blob {
  /** Bytes. */
  size: number;
  stream: Readable;
}

const KEY = /^[a-z]+\/\d{1,15}\/[0-9a-f]{32}$/;

/**
 * A key that nobody can guess and no other blob has.
 * @param kind what keeps it, in lower case: `uploads`
 */
export function newBlobKey(kind: string, accountId: number): string {
  return `${kind}/${accountId}/${randomBytes(16).toString('hex')}`;
}

/** @throws Error for anything but a key of ours; a key is part of a file's path */
export function requireBlobKey(key: string): void {
  if (!KEY.test(key)) throw new Error(`not a key of a blob: ${JSON.stringify(key)}`);
}
