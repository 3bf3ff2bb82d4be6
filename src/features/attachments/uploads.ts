/** Files that clients upload for messages that they send later. */
import { invalid, notFound } from '../../errors.ts';
import { type AccountTenant, sendKeyOf, type Tenant } from '../../platform/auth/tenant.ts';
import { foreignKeyConflict } from '../../platform/db/idempotency.ts';
import type { AccountScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { StoredFile } from '../../platform/http/route.ts';
import type { BlobStore } from '../../platform/storage/blob-store.ts';
import { checkFile } from './checks.ts';
import {
  deleteUpload,
  findUploads,
  insertFiles,
  insertUpload,
  isUploaded,
  keepFiles,
  lockFile,
  lockUploads,
  type NewUpload,
  uploadedBytes,
  type UploadRow,
} from './model.ts';
import { storedSource } from './read.ts';
import { contentTypeSchema, type UploadedAttachment } from './schema.ts';

export interface UploadsDeps {
  db: Queryable;
  store: Pick<BlobStore, 'open'>;
  blocked: ReadonlySet<string>;
  /** Maximum size of the uploads of one account. */
  quotaBytes: number;
}

const MEGABYTE = 1024 * 1024;
/** Removal deletes a row in one short transaction, after which the file can be inserted again. */
const MAX_TRIES = 3;
/** Types that programs send because they do not know a better one. */
const VAGUE_TYPES = ['application/octet-stream', 'text/plain'];

export function presentUpload(upload: UploadRow): UploadedAttachment {
  return {
    id: upload.id,
    filename: upload.filename,
    content_type: upload.content_type,
    size: upload.size,
    sha256: upload.sha256.toString('hex'),
    expires_at: upload.expires_at.toISOString(),
  };
}

/**
 * Refuses a file beyond the quota.
 * @param bytes approximate size of the file; null if unknown
 * @throws AppError validation_error
 */
export async function requireRoom(
  db: Queryable,
  tenant: AccountScope,
  bytes: number | null,
  quotaBytes: number,
): Promise<void> {
  if ((await uploadedBytes(db, tenant)) + (bytes ?? 1) <= quotaBytes) return;
  const quota = `${Math.floor(quotaBytes / MEGABYTE)} MB`;
  throw invalid({
    file: [`exceeds the quota: the attachments that an account has uploaded may have ${quota} together`],
  });
}

function claimedType({ contentType }: StoredFile): string | null {
  if (VAGUE_TYPES.includes(contentType)) return null;
  // The same rules as for the field.
  const { success } = contentTypeSchema.safeParse(contentType);
  return success ? contentType : null;
}

/**
 * Checks a file that has been stored.
 * @param contentType what the client says about it in a field of its own; null: nothing
 * @throws AppError validation_error
 */
export async function checkStored(
  { store, blocked }: UploadsDeps,
  stored: StoredFile,
  contentType: string | null,
): Promise<NewUpload> {
  if (stored.size === 0) throw invalid({ file: ['is empty'] });
  const source = storedSource(store, { storage_key: stored.key, size: stored.size });
  const given = { filename: stored.filename, contentType: contentType ?? claimedType(stored) };
  const { problems, ...checked } = await checkFile(source, given, blocked);
  if (problems.length > 0) throw invalid({ file: problems.map(({ message }) => message) });
  return {
    filename: checked.filename,
    content_type: checked.contentType,
    size: stored.size,
    sha256: Buffer.from(stored.sha256, 'hex'),
  };
}

/**
 * Makes the stored file the account's, unless it has an equal one.
 * @returns whether the blob is needed
 */
async function addFile(
  trx: Queryable,
  tenant: AccountScope,
  { sha256, size }: NewUpload,
  key: string,
): Promise<boolean> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const inserted = await insertFiles(trx, tenant, [{ sha256, size, storage_key: key }]);
    if (inserted.has(key)) return true;
    if (await lockFile(trx, tenant, sha256)) {
      await keepFiles(trx, tenant, [sha256]);
      return false;
    }
  }
  throw new Error('the file is removed again and again');
}

/**
 * Adds an upload whose file has been stored.
 * @throws AppError validation_error if others have used up the quota meanwhile
 */
export async function addUpload(
  trx: Queryable,
  tenant: Tenant,
  upload: NewUpload,
  { key, keep }: Pick<StoredFile, 'key' | 'keep'>,
  quotaBytes: number,
): Promise<UploadRow> {
  await lockUploads(trx, tenant);
  if (!(await isUploaded(trx, tenant, upload.sha256)))
    await requireRoom(trx, tenant, upload.size, quotaBytes);
  const isNeeded = await addFile(trx, tenant, upload, key);
  const row = await insertUpload(trx, tenant, upload);
  if (isNeeded) keep();
  return row;
}

/** @throws AppError not_found if the caller has no such upload, or it has expired */
export async function getUpload(db: Queryable, tenant: Tenant, id: number): Promise<UploadRow> {
  const [upload] = await findUploads(db, tenant, [id]);
  if (!upload) throw notFound('attachment');
  return upload;
}

/**
 * The upload of an earlier request with the same idempotency key.
 * @throws AppError not_found if it is gone; idempotency_conflict for a send-only key that did not upload it
 */
export async function getReplayed(db: Queryable, tenant: Tenant, id: number): Promise<UploadRow> {
  const [upload] = await findUploads(db, tenant, [id]);
  if (upload) return upload;
  throw sendKeyOf(tenant) === null ? notFound('attachment') : foreignKeyConflict();
}

/** Messages that have named the upload keep its file. @throws AppError not_found */
export async function removeUpload(db: Queryable, tenant: Tenant, id: number): Promise<UploadRow> {
  const removed = await deleteUpload(db, tenant, id);
  if (!removed) throw notFound('attachment');
  return removed;
}

/** Refuses a file before it is read. Its bytes may be those of an upload, but that is known only afterwards. */
export const admitUpload =
  ({ db, quotaBytes }: UploadsDeps) =>
  (tenant: AccountTenant, bytes: number | null): Promise<void> =>
    requireRoom(db, tenant, bytes, quotaBytes);
