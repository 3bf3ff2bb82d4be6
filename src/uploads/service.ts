import type { AccountTenant, Tenant } from '../auth/tenant.ts';
import type { Queryable } from '../db/queryable.ts';
import { invalid } from '../errors.ts';
import { newBlobKey, type Blob, type BlobStore } from '../storage/blob-store.ts';
import type { SignedIds } from '../storage/signed-id.ts';
import { sniffContentType } from './content-type.ts';
import { safeFilename } from './filename.ts';
import { findUpload, insertUpload, type NewUpload, type Upload } from './model.ts';

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
  /**
   * The upload that a field of a request names.
   * @param field for the error: `avatar`
   * @throws AppError validation_error where the id is not one of this account's uploads
   */
  requireOwn(tenant: AccountTenant, signedId: string, field: string): Promise<Upload>;
  /** @returns null where its content is gone */
  open(upload: Upload): Promise<Blob | null>;
}

/** The public address of an upload. */
export function uploadUrl(publicUrl: string, signedId: string): string {
  return `${publicUrl}/uploads/${signedId}`;
}

export function createUploads({ db, store, signedIds }: UploadsDeps): Uploads {
  async function findSigned(signedId: string): Promise<Upload | null> {
    const row = signedIds.verify('upload', signedId);
    return row && findUpload(db, row.accountId, row.id);
  }
  return {
    async keep(tenant, file) {
      if (file.bytes.length === 0) throw invalid({ file: ['is empty'] });
      const kept = {
        filename: safeFilename(file.filename),
        contentType: await sniffContentType(file.bytes),
        size: file.bytes.length,
        storageKey: newBlobKey('uploads', tenant.accountId),
      };
      await store.put(kept.storageKey, file.bytes);
      return kept;
    },
    discard: (kept) => store.remove(kept.storageKey),
    add: (trx, tenant, kept) => insertUpload(trx, tenant, kept),
    find: (accountId, id) => findUpload(db, accountId, id),
    signedIdOf: (upload) => signedIds.sign('upload', upload),
    findSigned,
    async requireOwn(tenant, signedId, field) {
      const upload = await findSigned(signedId);
      if (upload?.accountId === tenant.accountId) return upload;
      throw invalid({
        [field]: ['is not the signed_id of an upload of this account; see POST /v1/my/uploads'],
      });
    },
    open: (upload) => store.open(upload.storageKey),
  };
}
