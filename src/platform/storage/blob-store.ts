import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';

/**
 * The kinds of blobs; blobs of a kind share a folder. They are in one list so that no two features use the same name.
 */
export const blobKinds = ['uploads', 'imports', 'exports', 'inbox', 'attachments', 'submissions'] as const;
export type BlobKind = (typeof blobKinds)[number];

/** A set of blobs that can be listed, and removed by age. */
export interface BlobShelf {
  /**
   * Lists all blobs of a kind, in any order. A blob that is stored or removed during the listing may or may not be in
   * it.
   * @param maxNames per listing
   */
  list(kind: BlobKind, maxNames: number): AsyncIterable<BlobListing>;
  /**
   * Removes blobs that were written before a time. Names that are already gone are ignored.
   * @param names keys or drafts of a {@link BlobListing}
   * @returns how many were removed
   */
  removeOlder(names: readonly string[], before: Date): Promise<number>;
}

/** Stores files, uploaded or generated, under keys. A blob is stored as a whole and never changes. */
export interface BlobStore extends BlobShelf {
  /**
   * Stores `bytes` under `key`. Once this resolves, the blob survives a crash; until then it cannot be opened.
   * @param key from {@link newBlobKey}
   */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /**
   * Stores a stream under `key`, piece by piece, no faster than the disk can write. Survives crashes like {@link put}.
   * If the stream fails or is too long, nothing is stored.
   * @param key from {@link newBlobKey}
   * @throws BlobTooLarge once more than `maxBytes` have arrived; the error of the stream
   */
  putStream(
    key: string,
    stream: AsyncIterable<Uint8Array>,
    limits: { maxBytes: number },
  ): Promise<StoredStream>;
  /**
   * @param start the first byte to read; past the end, the stream is empty
   * @param end the last byte to read; by default that of the blob
   * @returns null if there is no such blob
   */
  open(key: string, start?: number, end?: number): Promise<Blob | null>;
  /** Removes the blob, if it exists. */
  remove(key: string): Promise<void>;
  /**
   * Moves blobs that were written before a time to {@link aside}. Keys that are already gone are ignored.
   * @returns how many were moved
   */
  setAside(keys: readonly string[], before: Date): Promise<number>;
  /**
   * The blobs that were set aside, under their former keys and with the time of the move. An operator can move them
   * back.
   */
  aside: BlobShelf;
  /** @returns the id of the installation that the store belongs to; null if none has claimed it */
  owner(): Promise<string | null>;
  /** Claims the store for an installation, unless another one has claimed it. */
  claim(installationId: string): Promise<void>;
}

export interface BlobListing {
  keys: string[];
  /** The half-written blobs of running or dead processes. They are never opened. */
  drafts: string[];
}

export interface Blob {
  /** Size of the whole blob in bytes, wherever the stream starts. */
  size: number;
  stream: Readable;
}

export interface StoredStream {
  /** Bytes. */
  size: number;
  /** Of the content, in hexadecimal digits. */
  sha256: string;
}

/** Thrown if a stream has more bytes than may be stored. */
export class BlobTooLarge extends Error {
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`the content has more than ${maxBytes} bytes`);
    this.maxBytes = maxBytes;
  }
}

const KEY_BYTES = 16;
const DRAFT_BYTES = 4;
const KEY = /^[a-z]+\/\d{1,15}\/[0-9a-f]{32}$/;
const DRAFT_ENDING = /\.[0-9a-f]{8}\.part$/;

/** Creates a unique key that cannot be guessed. */
export function newBlobKey(kind: BlobKind, accountId: number): string {
  return `${kind}/${accountId}/${randomBytes(KEY_BYTES).toString('hex')}`;
}

/** @throws Error unless {@link newBlobKey} can have created the key, which becomes part of a file's path */
export function requireBlobKey(key: string): void {
  if (!KEY.test(key)) throw new Error(`not a key of a blob: ${JSON.stringify(key)}`);
}

/** Creates a unique name for a draft of the blob. */
export function newDraftName(key: string): string {
  return `${key}.${randomBytes(DRAFT_BYTES).toString('hex')}.part`;
}

/** Whether a file name is that of a blob or of a draft; null for a file that is neither. */
export function kindOfName(name: string): 'key' | 'draft' | null {
  if (KEY.test(name)) return 'key';
  return DRAFT_ENDING.test(name) && KEY.test(name.replace(DRAFT_ENDING, '')) ? 'draft' : null;
}
