import type { Readable } from 'node:stream';
import { invalid } from '../../errors.ts';
import type { NewAttachment } from '../../delivery/ledger/accept/new-letter.ts';
import { MESSAGE_LIFETIME_HOURS } from '../../delivery/terms/message.ts';
import { isTestCaller, type Tenant } from '../../platform/auth/tenant.ts';
import type { AccountScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { newBlobKey, type BlobStore } from '../../platform/storage/blob-store.ts';
import { openFolded } from '../../platform/storage/folded.ts';
import { createHomeStore } from '../../platform/storage/local-disk.ts';
import type { FileDecoder } from './decode-gate.ts';
import { findFiles, insertFiles, keepFiles, releaseFiles } from './model.ts';
import { fingerprintOfFiles, readAttachments, type ReadAttachments, type ReadDeps, type ReadFile } from './read.ts';
import type { AttachmentBody } from './schema.ts';

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
async function restoreLost(store: BlobStore, key: string, folded: Uint8Array): Promise<void> {
  const blob = await store.open(key);
  blob?.stream.destroy();
  if (blob?.size !== folded.length) await store.put(key, folded);
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
    const folded = files.get(hex)?.folded;
    if (folded) await restoreLost(store, key, folded);
    missing.delete(hex);
  }
  const written = [];
  for (const { sha256, size, folded } of missing.values()) {
    if (!folded) continue;
    const key = newBlobKey('attachments', scope.accountId);
    await store.put(key, folded);
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
    if (!distinct.get(hex)?.folded) distinct.set(hex, file);
  }
  await storeMissing(deps, scope, distinct);
  const hashes = [...distinct.values()].map(({ sha256 }) => sha256);
  const kept = await keepFiles(deps.db, scope, hashes, deps.keptDays);
  const gone = files.filter(({ sha256, folded }) => !folded && !kept.has(sha256.toString('hex')));
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
      if (isTestCaller(tenant.actor)) return files.map((file) => newAttachment(file, false));
      if (files.length === 0) return [];
      return storeFiles({ db, store, keptDays: keptDays(until) }, tenant, files);
    },
    async keepFiles(scope, hashes, until) {
      await keepFiles(db, scope, hashes, keptDays(until));
    },
    async releaseFiles(scope, files) {
      // Those that were stored before are not new, whatever becomes of the message.
      const hashes = files.flatMap(({ sha256, folded }) => (folded ? [sha256] : []));
      if (hashes.length > 0) await releaseFiles(db, scope, hashes);
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
