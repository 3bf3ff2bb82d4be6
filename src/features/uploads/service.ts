import { invalid } from '../../errors.ts';
import type { AccountTenant, Tenant } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { SignedIds } from '../../platform/secrets/signed-id.ts';
import { newBlobKey, type Blob, type BlobStore } from '../../platform/storage/blob-store.ts';
import { sniffContentType, safeFilename } from './file.ts';
import { insertUpload, UPLOAD_BLOBS, UploadModel, type NewUpload, type Upload } from './model.ts';

/**
 * Uploaded images that other rows name (avatar, banner, logo). Kept is `upload:<id>`, so that a new APP_SECRET
 * changes only the signed ids that are shown.
 */
export interface ImageReferences {
  /**
   * @param signedId from a client
   * @returns what to keep; null where it is no image that this account uploaded
   */
  accept(accountId: number, signedId: string): Promise<string | null>;
  /** @returns the signed id to show for what was kept; null for null */
  show(accountId: number, reference: string | null): string | null;
}

const KEPT = /^upload:(\d+)$/;

export function createImageReferences(db: Queryable, signedIds: SignedIds): ImageReferences {
  return {
    async accept(accountId, signedId) {
      const row = signedIds.verify('upload', signedId);
      if (!row || row.accountId !== accountId) return null;
      const { rowCount } = await db.query(
        `select 1 from uploads where id = $1 and account_id = $2 and content_type like 'image/%'`,
        [row.id, accountId],
      );
      return rowCount === 1 ? `upload:${row.id}` : null;
    },
    show(accountId, reference) {
      const id = KEPT.exec(reference ?? '')?.[1];
      return id === undefined ? null : signedIds.sign('upload', { accountId, id: Number(id) });
    },
  };
}

/** Where an upload can be fetched by anyone who has its signed id. */
export function uploadUrl(publicUrl: string, signedId: string): string {
  return `${publicUrl}/uploads/${signedId}`;
}

export interface UploadsDeps {
  db: Queryable;
  store: BlobStore;
  signedIds: SignedIds;
}

/** A file as it came. */
export interface ReceivedFile {
  filename: string;
  bytes: Buffer;
}

export interface Uploads {
  /**
   * Keep a file's content; no row tells of it yet. Call it outside any transaction.
   * @throws AppError validation_error for an empty file
   */
  keep(tenant: AccountTenant, file: ReceivedFile): Promise<NewUpload>;
  /** Remove content that was kept for nothing. */
  discard(kept: NewUpload): Promise<void>;
  /** The row of a kept file. */
  add(trx: Queryable, tenant: Tenant, kept: NewUpload): Promise<Upload>;
  /** @returns null where the account has no such upload */
  find(accountId: number, id: number): Promise<Upload | null>;
  /** What a client holds: in `signed_id`, and handed back as avatar, banner or logo. */
  signedIdOf(upload: Pick<Upload, 'id' | 'accountId'>): string;
  /** Anybody's upload, by an id that we signed; null for any other. */
  findSigned(signedId: string): Promise<Upload | null>;
  /** @returns null where its content is gone */
  open(upload: Upload): Promise<Blob | null>;
}

export function createUploads({ db, store, signedIds }: UploadsDeps): Uploads {
  return {
    async keep(tenant, file) {
      if (file.bytes.length === 0) throw invalid({ file: ['is empty'] });
      const kept = {
        filename: safeFilename(file.filename),
        contentType: await sniffContentType(file.bytes),
        size: file.bytes.length,
        storageKey: newBlobKey(UPLOAD_BLOBS, tenant.accountId),
      };
      await store.put(kept.storageKey, file.bytes);
      return kept;
    },
    discard: (kept) => store.remove(kept.storageKey),
    add: (trx, tenant, kept) => insertUpload(trx, tenant, kept),
    find: (accountId, id) => UploadModel.findInAccount({ accountId }, id, db),
    signedIdOf: (upload) => signedIds.sign('upload', upload),
    async findSigned(signedId) {
      const row = signedIds.verify('upload', signedId);
      return row && UploadModel.findInAccount(row, row.id, db);
    },
    open: (upload) => store.open(upload.storageKey),
  };
}
