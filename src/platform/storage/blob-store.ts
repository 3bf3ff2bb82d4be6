import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';

/** What a blob is kept for; blobs of a kind share a folder. One list, so that no two features use the same name. */
export type BlobKind = 'uploads';

/** A set of blobs that can be listed, and cleared by age. */
export interface BlobShelf {
  /**
   * Everything of a kind, in no order; what is put or removed meanwhile may be missing or there.
   * @param kind as of {@link newBlobKey}
   * @param most names of one listing
   */
  list(kind: BlobKind, maxNames: number): AsyncIterable<BlobListing>;
  /**
   * Remove what was written before a time; what is gone already is nobody's error.
   * @param names keys or drafts of a {@link BlobListing}
   * @returns how many were removed
   */
  removeOlder(names: readonly string[], before: Date): Promise<number>;
}

/** Where files are kept that somebody uploaded or that we made: whole, by key, never changed. */
export interface BlobStore extends BlobShelf {
  /**
   * Keep `bytes` under `key`. Once this resolves they survive a crash; before, nobody sees a part of them.
   * @param key from {@link newBlobKey}
   */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** @returns null where nothing is kept under `key` */
  open(key: string): Promise<Blob | null>;
  /** Remove what is kept under `key`, if anything. */
  remove(key: string): Promise<void>;
  /**
   * Move to {@link aside} what was written before a time; what is gone already is nobody's error.
   * @returns how many were moved
   */
  setAside(keys: readonly string[], before: Date): Promise<number>;
  /** What was set aside, under its former keys, as if written at that moment. A person can put it back. */
  aside: BlobShelf;
}

export interface BlobListing {
  keys: string[];
  /** Names of what is still being put, or was by somebody who died: never to be opened. */
  drafts: string[];
}

export interface Blob {
  /** Bytes. */
  size: number;
  stream: Readable;
}

const KEY = /^[a-z]+\/\d{1,15}\/[0-9a-f]{32}$/;
const DRAFT_ENDING = /\.[0-9a-f]{8}\.part$/;

/**
 * A key that nobody can guess and no other blob has.
 * @param kind what keeps it, in lower case: `uploads`
 */
export function newBlobKey(kind: BlobKind, accountId: number): string {
  return `${kind}/${accountId}/${randomBytes(16).toString('hex')}`;
}

/** @throws Error for anything but a key of ours; a key is part of a file's path */
export function requireBlobKey(key: string): void {
  if (!KEY.test(key)) throw new Error(`not a key of a blob: ${JSON.stringify(key)}`);
}

/** The name of a draft of the blob, that no other draft has. */
export function newDraftName(key: string): string {
  return `${key}.${randomBytes(4).toString('hex')}.part`;
}

/** What a name in a store is; null: nothing of ours. */
export function kindOfName(name: string): 'key' | 'draft' | null {
  if (KEY.test(name)) return 'key';
  return DRAFT_ENDING.test(name) && KEY.test(name.replace(DRAFT_ENDING, '')) ? 'draft' : null;
}
