import { AppError, invalid, notFound } from '../../errors.ts';
import type { AccountScope, BrandScope } from '../../platform/db/model.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { SignedIds } from '../../platform/secrets/signed-id.ts';
import { newBlobKey, type Blob, type BlobStore } from '../../platform/storage/blob-store.ts';
import { sniffContentType, safeFilename } from '../../platform/storage/file.ts';
import {
  bytesUnderLock,
  deleteUnused,
  findUpload,
  findUploads,
  insertUpload,
  type NewUpload,
  type UploadRow,
  usedBytes,
} from './model.ts';
import type { UploadUsage } from './schema.ts';

export type { UploadRow };

/** A file as the client sent it. */
export interface ReceivedFile {
  filename: string;
  bytes: Buffer;
}

export interface Uploads {
  /**
   * Stores the content of a file; {@link add} inserts its row. Call it outside a transaction.
   * @param kept whether it stays although it is no avatar, banner or logo
   * @throws AppError validation_error if the file is empty
   */
  store(scope: AccountScope, file: ReceivedFile, kept?: boolean): Promise<NewUpload>;
  /** Removes stored content for which no row was inserted. */
  discard(stored: NewUpload): Promise<void>;
  /**
   * Inserts the row of a stored file.
   * @throws AppError validation_error if the account's uploads would exceed the quota
   */
  add(trx: Queryable, scope: BrandScope, stored: NewUpload): Promise<UploadRow>;
  /**
   * Deletes an upload and its content.
   * @throws AppError not_found; conflict if it is an avatar, banner or logo
   */
  remove(scope: AccountScope, signedId: string): Promise<UploadRow>;
  /** @returns null if the account has no such upload */
  find(accountId: number, id: number): Promise<UploadRow | null>;
  /** Finds the brand's uploads, newest first. @param onlyImages whether to list only what browsers display */
  list(scope: BrandScope, onlyImages: boolean, page: Page): Promise<{ rows: UploadRow[]; count: RowCount }>;
  /** Returns how much of its quota the account uses. */
  usage(scope: AccountScope): Promise<UploadUsage>;
  /** Returns the id that clients use: the `signed_id` of an upload, and the value of avatar, banner and logo. */
  signedIdOf(upload: Pick<UploadRow, 'id' | 'account_id'>): string;
  /** @returns the upload, of whatever account; null if we did not sign the id or the upload is gone */
  findSigned(signedId: string): Promise<UploadRow | null>;
  /** @returns null if the content is gone */
  open(upload: UploadRow): Promise<Blob | null>;
}

export interface UploadsDeps {
  db: Queryable;
  store: BlobStore;
  signedIds: SignedIds;
  /** Maximum total size of the uploads of one account, in bytes. */
  quotaBytes: number;
}

const MEGABYTE = 1024 * 1024;

export function createUploads({ db, store, signedIds, quotaBytes }: UploadsDeps): Uploads {
  return {
    async store(scope, file, kept = false) {
      if (file.bytes.length === 0) throw invalid({ file: ['is empty'] });
      const stored = {
        filename: safeFilename(file.filename),
        content_type: await sniffContentType(file.bytes),
        size: file.bytes.length,
        storage_key: newBlobKey('uploads', scope.accountId),
        kept,
      };
      await store.put(stored.storage_key, file.bytes);
      return stored;
    },
    discard: (stored) => store.remove(stored.storage_key),
    async add(trx, scope, stored) {
      if ((await bytesUnderLock(trx, scope)) + stored.size > quotaBytes) {
        const quota = `${Math.floor(quotaBytes / MEGABYTE)} MB`;
        throw invalid({
          file: [`exceeds the account's quota of ${quota} for uploads; delete some first`],
        });
      }
      return insertUpload(trx, scope, stored);
    },
    async remove(scope, signedId) {
      const signed = signedIds.verify('upload', signedId);
      if (!signed || signed.accountId !== scope.accountId) throw notFound('upload');
      const removed = await deleteUnused(db, scope, signed.id);
      if (!removed) {
        if (!(await findUpload(db, scope, signed.id))) throw notFound('upload');
        throw new AppError(
          'conflict',
          'the upload is in use as an avatar, banner or logo; replace it there first',
        );
      }
      // If this fails, housekeeping removes the file, because no row refers to it any more.
      await store.remove(removed.storage_key);
      return removed;
    },
    find: (accountId, id) => findUpload(db, { accountId }, id),
    list: (scope, onlyImages, page) => findUploads(db, scope, onlyImages, page),
    usage: async (scope) => ({ used_bytes: await usedBytes(db, scope), quota_bytes: quotaBytes }),
    signedIdOf: (upload) => signedIds.sign('upload', { accountId: upload.account_id, id: upload.id }),
    async findSigned(signedId) {
      const signed = signedIds.verify('upload', signedId);
      return signed && findUpload(db, signed, signed.id);
    },
    open: (upload) => store.open(upload.storage_key),
  };
}

/** Returns the public URL of an upload. */
export function uploadUrl(publicUrl: string, signedId: string): string {
  return `${publicUrl}/uploads/${signedId}`;
}

/**
 * References to uploaded images: avatar, banner, logo. Rows store `upload:<id>`, so that a new APP_SECRET changes only
 * the signed ids that clients see.
 */
export interface ImageReferences {
  /**
   * @param signedId as sent by the client
   * @returns the reference to store; null if the id is not that of an image uploaded by this account
   */
  accept(accountId: number, signedId: string): Promise<string | null>;
  /** @returns the signed id of a stored reference; null for null */
  show(accountId: number, reference: string | null): string | null;
}

const REFERENCE = /^upload:(\d+)$/;

export function createImageReferences(db: Queryable, signedIds: SignedIds): ImageReferences {
  return {
    async accept(accountId, signedId) {
      const signed = signedIds.verify('upload', signedId);
      if (!signed || signed.accountId !== accountId) return null;
      const upload = await findUpload(db, { accountId }, signed.id);
      return upload?.content_type.startsWith('image/') ? `upload:${signed.id}` : null;
    },
    show(accountId, reference) {
      const id = REFERENCE.exec(reference ?? '')?.[1];
      return id === undefined ? null : signedIds.sign('upload', { accountId, id: Number(id) });
    },
  };
}
