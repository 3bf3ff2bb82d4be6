import type { Readable } from 'node:stream';
import { invalid } from '../../errors.ts';
import type { NewAttachment } from '../../delivery/ledger/accept/new-letter.ts';
import { MESSAGE_LIFETIME_HOURS } from '../../delivery/terms/message.ts';
import { isTestCaller, type Tenant } from '../../platform/auth/tenant.ts';
import type { AccountScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { newBlobKey, type BlobStore } from '../../platform/storage/blob-store.ts';
import { foldedSize, openFolded } from '../../platform/storage/folded.ts';
import { createHomeStore } from '../../platform/storage/local-disk.ts';
import type { FileDecoder } from './decode-gate.ts';
import { findFiles, insertFiles, keepFiles, releaseFiles } from './model.ts';
import {
  fingerprintOfFiles,
  readAttachments,
  type ReadAttachments,
  type ReadDeps,
  type ReadFile,
} from './read.ts';
import type { AttachmentBody } from './schema.ts';

export { bufferSource } from './byte-source.ts';
export { checkFile } from './checks.ts';
export { createFileDecoder, type FileDecoder } from './decode-gate.ts';
export { fingerprintOfFiles };
export type { ReadAttachments, ReadFile };

/** Messages are final at the latest so many days after their time. */
const LIFETIME_DAYS = MESSAGE_LIFETIME_HOURS / 24;
const MS_PER_DAY = 86_400_000;
/** A week's range of message ids, and a week more: a letter is there until all of its range has aged. */
const SPARE_DAYS = 15;
const GONE = 'has expired';

/** A file as clients get it back. */
export interface OpenedFile {
  /** Of the stream. */
  size: number;
  stream: Readable;
}

/** The files of messages. */
export interface Attachments {
  /**
   * Reads the files of a request and checks them. Nothing is stored. Takes `content` out of `given`, so that it is not in
   * memory twice.
   * @throws AppError test_key if a test key names an upload
   * @throws Overload if too many large files are being decoded
   */
  readAttachments(tenant: Tenant, given: readonly AttachmentBody[]): Promise<ReadAttachments>;
  /**
   * Stores files, outside of a transaction, and keeps them until the messages that name them are gone. Call it again with
   * the same files if one was removed before the message was written. Files of test keys are not stored.
   * @param files from `readAttachments`; with `folded: null`, such as for another message with the same file, it must be
   *   stored already
   * @param until when the messages are to be sent; by default now
   * @returns the files in their order, for the letter
   * @throws AppError validation_error naming the field of a file that should be stored already and is gone
   */
  storeFiles(
    tenant: Pick<Tenant, 'accountId' | 'actor'>,
    files: readonly ReadFile[],
    options?: { until?: Date | null | undefined },
  ): Promise<NewAttachment[]>;
  /**
   * Keeps stored files until messages that name them, and that are to be sent at another time, are gone. Call it before
   * the time of the messages is changed.
   */
  keepFiles(scope: AccountScope, hashes: readonly Buffer[], until: Date): Promise<void>;
  /**
   * Lets files go that were stored for a message that is refused. Those that another message or an upload has stay.
   * Without this, a client whose messages are refused could fill the storage.
   */
  releaseFiles(scope: AccountScope, files: readonly ReadFile[]): Promise<void>;
  /** Removes what threads have stored of files, of a message that is not written, unless `storeFiles` took it over. */
  dropFiles(scope: AccountScope, files: readonly ReadFile[]): Promise<void>;
  /**
   * Opens a stored file.
   * @param form `folded`: in base64, in lines of 76 characters that end with CRLF
   * @returns null if the account has no such file any more
   */
  openFile(scope: AccountScope, sha256: Buffer, form: 'bytes' | 'folded'): Promise<OpenedFile | null>;
}

export interface AttachmentSettings {
  CARILLON_HOME: string;
  MESSAGE_CONTENT_RETENTION_DAYS: number;
  ATTACHMENTS_MB: number;
  ATTACHMENT_BLOCKED_EXTENSIONS: ReadonlySet<string>;
}

export interface AttachmentsDeps {
  config: AttachmentSettings;
  database: { pool: Queryable };
  fileDecoder: FileDecoder;
}

interface StoreDeps {
  db: Queryable;
  store: BlobStore;
  /** For how long no one looks whether a file is still used. */
  keptDays: number;
}

/** Writes a known file again if its blob is lost, such as with a database that was restored from an older backup. */
async function restoreLost(
  store: BlobStore,
  key: string,
  { size, folded, blobKey }: ReadFile,
): Promise<void> {
  const blob = await store.open(key);
  blob?.stream.destroy();
  if (blob?.size === foldedSize(size)) return;
  const copy = typeof blobKey === 'string' ? await store.open(blobKey) : null;
  if (folded) await store.put(key, folded);
  else if (copy) await store.putStream(key, copy.stream, { maxBytes: copy.size });
}

const hasBytes = ({ folded, blobKey }: ReadFile) => folded !== null || typeof blobKey === 'string';

/** Removes the blobs of files that were stored before it was known whether they are needed. */
async function dropBlobs(store: BlobStore, files: Iterable<ReadFile>): Promise<void> {
  for (const { blobKey } of files) if (typeof blobKey === 'string') await store.remove(blobKey);
}

/** Writes the files that the account does not have. An equal file that came first wins. */
async function storeMissing(
  { db, store, keptDays }: StoreDeps,
  scope: AccountScope,
  files: ReadonlyMap<string, ReadFile>,
): Promise<void> {
  const known = await findFiles(
    db,
    scope,
    [...files.values()].map(({ sha256 }) => sha256),
  );
  const missing = new Map(files);
  for (const { sha256, storage_key: key } of known) {
    const hex = sha256.toString('hex');
    const file = files.get(hex);
    if (file && hasBytes(file)) await restoreLost(store, key, file);
    missing.delete(hex);
  }
  await dropBlobs(
    store,
    [...files.values()].filter(({ sha256 }) => !missing.has(sha256.toString('hex'))),
  );
  const written = [];
  for (const file of missing.values()) {
    const { sha256, size, folded } = file;
    if (!hasBytes(file)) continue;
    const key = file.blobKey ?? newBlobKey('attachments', scope.accountId);
    if (folded) await store.put(key, folded);
    written.push({ sha256, size, storage_key: key });
  }
  if (written.length === 0) return;
  const inserted = await insertFiles(db, scope, written, keptDays);
  for (const { storage_key: key } of written) if (!inserted.has(key)) await store.remove(key);
}

async function storeFiles(
  deps: StoreDeps,
  scope: AccountScope,
  files: readonly ReadFile[],
): Promise<NewAttachment[]> {
  const distinct = new Map<string, ReadFile>();
  for (const file of files) {
    const hex = file.sha256.toString('hex');
    const known = distinct.get(hex);
    if (known && hasBytes(known)) await dropBlobs(deps.store, [file]);
    else distinct.set(hex, file);
  }
  await storeMissing(deps, scope, distinct);
  const hashes = [...distinct.values()].map(({ sha256 }) => sha256);
  const kept = await keepFiles(deps.db, scope, hashes, deps.keptDays);
  const gone = files.filter((file) => !hasBytes(file) && !kept.has(file.sha256.toString('hex')));
  if (gone.length > 0) throw invalid(Object.fromEntries(gone.map(({ field }) => [field, [GONE]])));
  return files.map((file) => newAttachment(file, true));
}

const newAttachment = (
  { filename, contentType, contentId, disposition, size, sha256 }: ReadFile,
  stored: boolean,
): NewAttachment => ({ filename, contentType, contentId, disposition, size, sha256, stored });

/** Days until a message that is to be sent at a time is final. */
const daysUntil = (time: Date) => Math.ceil((time.getTime() - Date.now()) / MS_PER_DAY) + LIFETIME_DAYS;

/** The files of messages, for the features that send them. */
export function createAttachments({
  config,
  database: { pool: db },
  fileDecoder: decoder,
}: AttachmentsDeps): Attachments {
  const store = createHomeStore(config.CARILLON_HOME);
  const blocked = config.ATTACHMENT_BLOCKED_EXTENSIONS;
  const readDeps: ReadDeps = { db, store, decoder, blocked, maxBytes: config.ATTACHMENTS_MB * 1024 * 1024 };
  const keptDays = (until: Date | null | undefined) =>
    config.MESSAGE_CONTENT_RETENTION_DAYS + SPARE_DAYS + (until ? daysUntil(until) : 0);
  return {
    readAttachments: (tenant, given) => readAttachments(readDeps, tenant, given),
    async storeFiles(tenant, files, { until } = {}) {
      if (isTestCaller(tenant.actor)) {
        await dropBlobs(store, files);
        return files.map((file) => newAttachment(file, false));
      }
      if (files.length === 0) return [];
      return storeFiles({ db, store, keptDays: keptDays(until) }, tenant, files);
    },
    async keepFiles(scope, hashes, until) {
      await keepFiles(db, scope, hashes, keptDays(until));
    },
    async releaseFiles(scope, files) {
      // Those that were stored before are not new, whatever becomes of the message.
      const hashes = files.flatMap((file) => (hasBytes(file) ? [file.sha256] : []));
      if (hashes.length > 0) await releaseFiles(db, scope, hashes);
    },
    async dropFiles(scope, files) {
      const waiting = files.filter(({ blobKey }) => typeof blobKey === 'string');
      if (waiting.length === 0) return;
      const stored = await findFiles(
        db,
        scope,
        waiting.map(({ sha256 }) => sha256),
      );
      const keys = new Set<string | null | undefined>(stored.map(({ storage_key: key }) => key));
      await dropBlobs(
        store,
        waiting.filter(({ blobKey }) => !keys.has(blobKey)),
      );
    },
    async openFile(scope, sha256, form) {
      const [file] = await findFiles(db, scope, [sha256]);
      if (!file) return null;
      if (form === 'folded') return store.open(file.storage_key);
      const stream = await openFolded(store, file.storage_key);
      return stream && { size: file.size, stream };
    },
  };
}
