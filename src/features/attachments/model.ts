import type { ModelObject } from 'objection';
import { sendKeyOf, type Tenant } from '../../platform/auth/tenant.ts';
import { TenantModel, type AccountScope, type BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

class AttachmentUploadModel extends TenantModel {
  static override readonly tableName = 'attachment_uploads';
  static override readonly columns = [
    'id',
    'account_id',
    'brand_id',
    'filename',
    'content_type',
    'size',
    'sha256',
    'send_key_id',
    'expires_at',
    'created_at',
  ];

  declare account_id: number;
  declare brand_id: number;
  declare filename: string;
  declare content_type: string;
  /** In bytes. */
  declare size: number;
  declare sha256: Buffer;
  /** The send-only key that uploaded it; null: anything else did. */
  declare send_key_id: number | null;
  declare expires_at: Date;
  declare created_at: Date;
}

/** A row of `attachment_uploads`. */
export type UploadRow = ModelObject<AttachmentUploadModel>;
export type NewUpload = Pick<UploadRow, 'filename' | 'content_type' | 'size' | 'sha256'>;

/** A row of `attachment_files`. */
export interface FileRow {
  sha256: Buffer;
  storage_key: string;
  /** In bytes, not folded. */
  size: number;
}

/** How long uploads can be named by messages. */
export const UPLOAD_HOURS = 72;
/** Looked at a day after an upload has expired. */
const UPLOAD_FILE_DAYS = 4;

/** Whose uploads: those of a brand, or of one of its send-only keys. */
export type Uploader = BrandScope & Pick<Tenant, 'actor'>;

export function insertUpload(db: Queryable, scope: Uploader, upload: NewUpload): Promise<UploadRow> {
  return AttachmentUploadModel.on(db)
    .insert({
      ...upload,
      account_id: scope.accountId,
      brand_id: scope.brandId,
      send_key_id: sendKeyOf(scope),
      expires_at: new Date(Date.now() + UPLOAD_HOURS * 3_600_000),
    })
    .returning(AttachmentUploadModel.columns)
    .execute();
}

/** SQL: whether an upload is one of a send-only key; true without one. */
const uploadedBySql = (sendKey: string) => `(${sendKey}::bigint is null or send_key_id = ${sendKey})`;

/** Finds those of the uploads that have not expired. */
export async function findUploads(
  db: Queryable,
  uploader: Uploader,
  ids: readonly number[],
): Promise<UploadRow[]> {
  const { rows } = await db.query<UploadRow>(
    `select ${AttachmentUploadModel.columns.join(', ')} from attachment_uploads
     where id = any($1) and account_id = $2 and brand_id = $3 and ${uploadedBySql('$4')} and expires_at > now()`,
    [ids, uploader.accountId, uploader.brandId, sendKeyOf(uploader)],
  );
  return rows;
}

/**
 * Deletes an upload that has not expired. Upkeep looks at its file at once.
 * @returns null if there is none
 */
export async function deleteUpload(db: Queryable, uploader: Uploader, id: number): Promise<UploadRow | null> {
  const { rows } = await db.query<UploadRow>(
    `with gone as (
       delete from attachment_uploads
       where id = $1 and account_id = $2 and brand_id = $3 and ${uploadedBySql('$4')} and expires_at > now()
       returning ${AttachmentUploadModel.columns.join(', ')}
     ), looked_at as (
       update attachment_files f set kept_until = now() from gone g
       where f.account_id = g.account_id and f.sha256 = g.sha256
     )
     select * from gone`,
    [id, uploader.accountId, uploader.brandId, sendKeyOf(uploader)],
  );
  return rows[0] ?? null;
}

/** Returns the size of the account's uploads that have not expired, in bytes. Equal files count once. */
export async function uploadedBytes(db: Queryable, { accountId }: AccountScope): Promise<number> {
  const { rows } = await db.query<{ bytes: number }>(
    `select coalesce(sum(size), 0)::bigint as bytes from (
       select distinct sha256, size from attachment_uploads where account_id = $1 and expires_at > now()) files`,
    [accountId],
  );
  return Number(rows[0]?.bytes ?? 0);
}

/** Makes other uploads of the account wait for this transaction, so that together they cannot exceed the quota. */
export async function lockUploads(trx: Queryable, { accountId }: AccountScope): Promise<void> {
  await trx.query(`select pg_advisory_xact_lock(hashtextextended('attachments ' || $1::text, 0))`, [
    accountId,
  ]);
}

/** Whether one of the account's uploads that have not expired is of the file. */
export async function isUploaded(
  db: Queryable,
  { accountId }: AccountScope,
  sha256: Buffer,
): Promise<boolean> {
  const { rowCount } = await db.query(
    'select 1 from attachment_uploads where account_id = $1 and sha256 = $2 and expires_at > now() limit 1',
    [accountId, sha256],
  );
  return rowCount !== 0;
}

/** Finds the stored files of the account that have these hashes. */
export async function findFiles(
  db: Queryable,
  { accountId }: AccountScope,
  hashes: readonly Buffer[],
): Promise<FileRow[]> {
  const { rows } = await db.query<FileRow>({
    name: 'find_attachment_files',
    text: 'select sha256, storage_key, size from attachment_files where account_id = $1 and sha256 = any($2)',
    values: [accountId, hashes],
  });
  return rows;
}

/** Until the day after so many days: a time that changes once a day, so that a file that is used often is not written often. */
const keptUntilSql = (days: string) => `date_trunc('day', now()) + ${days} * interval '1 day'`;

/**
 * Inserts the rows of files that were just stored.
 * @param days for how long no one looks whether they are still used
 * @returns the storage keys of the inserted rows; others have lost to equal files that came first
 */
export async function insertFiles(
  db: Queryable,
  { accountId }: AccountScope,
  files: readonly FileRow[],
  days: number = UPLOAD_FILE_DAYS,
): Promise<Set<string>> {
  // In the order of the hashes, so that two requests with the same files do not wait for each other.
  const { rows } = await db.query<{ storage_key: string }>({
    name: 'insert_attachment_files',
    text: `insert into attachment_files (account_id, sha256, storage_key, size, kept_until)
     select $1, f.sha256, f.storage_key, f.size, ${keptUntilSql('$5::int')}
     from unnest($2::bytea[], $3::text[], $4::int[]) as f (sha256, storage_key, size) order by f.sha256
     on conflict (account_id, sha256) do nothing returning storage_key`,
    values: [
      accountId,
      files.map(({ sha256 }) => sha256),
      files.map(({ storage_key: key }) => key),
      files.map(({ size }) => size),
      days,
    ],
  });
  return new Set(rows.map(({ storage_key: key }) => key));
}

/**
 * Lets no one look for so many days whether the files are still used. Writes at most once a day.
 * @returns the hashes of the files that exist, in hexadecimal digits
 */
export async function keepFiles(
  db: Queryable,
  { accountId }: AccountScope,
  hashes: readonly Buffer[],
  days: number = UPLOAD_FILE_DAYS,
): Promise<Set<string>> {
  const { rows } = await db.query<{ sha256: string }>({
    name: 'keep_attachment_files',
    text: `with raised as (
       update attachment_files f set kept_until = ${keptUntilSql('$3::int')}
       where account_id = $1 and sha256 = any(array(
         select sha256 from attachment_files where account_id = $1 and sha256 = any($2)
           and kept_until < ${keptUntilSql('$3::int')} order by sha256 for no key update))
     )
     select encode(sha256, 'hex') as sha256 from attachment_files where account_id = $1 and sha256 = any($2)`,
    values: [accountId, hashes, days],
  });
  return new Set(rows.map(({ sha256 }) => sha256));
}

/** Lets upkeep look at once whether files are used. */
export async function releaseFiles(
  db: Queryable,
  { accountId }: AccountScope,
  hashes: readonly Buffer[],
): Promise<void> {
  await db.query(
    `update attachment_files set kept_until = now() where account_id = $1 and sha256 = any(array(
       select sha256 from attachment_files where account_id = $1 and sha256 = any($2) order by sha256
       for no key update))`,
    [accountId, hashes],
  );
}

/**
 * Locks a file against removal until the transaction ends.
 * @returns false if the account has no such file
 */
export async function lockFile(
  trx: Queryable,
  { accountId }: AccountScope,
  sha256: Buffer,
): Promise<boolean> {
  const { rowCount } = await trx.query(
    'select 1 from attachment_files where account_id = $1 and sha256 = $2 for key share',
    [accountId, sha256],
  );
  return rowCount !== 0;
}
