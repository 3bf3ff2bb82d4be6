import type { AccountTenant, Tenant } from '../auth/tenant.ts';
import type { Queryable } from '../db/queryable.ts';
import { invalid } from '../errors.ts';
import { newBlobKey, type Blob, type BlobStore } from '../storage/blob-store.ts';
import type { SignedIds } from '../storage/signed-id.ts';
import { sniffContentType } from './content-type.ts';
import { safeFilename } from './filename.ts';
import { insertUpload, UPLOAD_BLOBS, UploadModel, type NewUpload, type Upload } from './model.ts';

export { clearOrphanedFiles } from './orphans.ts';

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
