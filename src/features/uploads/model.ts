import type { ModelObject } from 'objection';
import { TenantModel, type AccountScope, type BrandScope } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { DISPLAYED_TYPES } from '../../platform/storage/file.ts';
import { USED_SQL } from './references.ts';

class UploadModel extends TenantModel {
  static override readonly tableName = 'uploads';
  static override readonly columns = [
    'id',
    'account_id',
    'brand_id',
    'filename',
    'content_type',
    'size',
    'storage_key',
    'kept',
    'created_at',
  ];

  declare account_id: number;
  declare brand_id: number;
  declare filename: string;
  /** Detected from the content. */
  declare content_type: string;
  /** In bytes. */
  declare size: number;
  declare storage_key: string;
  /** Whether it stays until it is deleted, because letters show it. */
  declare kept: boolean;
  declare created_at: Date;
}

/** A row of `uploads`. */
export type UploadRow = ModelObject<UploadModel>;

/** A stored file whose row is not inserted yet. */
export type NewUpload = Omit<UploadRow, 'id' | 'account_id' | 'brand_id' | 'created_at'>;

export function insertUpload(db: Queryable, scope: BrandScope, upload: NewUpload): Promise<UploadRow> {
  return UploadModel.on(db)
    .insert({ ...upload, account_id: scope.accountId, brand_id: scope.brandId })
    .returning(UploadModel.columns)
    .execute();
}

/** @returns null if the account has no such upload */
export function findUpload(db: Queryable, scope: AccountScope, id: number): Promise<UploadRow | null> {
  return UploadModel.findInAccount(db, scope, id);
}

/**
 * Finds the brand's uploads, newest first.
 * @param onlyImages whether to leave out those that browsers do not display
 */
export async function findUploads(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  onlyImages: boolean,
  page: Page,
): Promise<{ rows: UploadRow[]; count: RowCount }> {
  const source = `uploads u where u.account_id = $1 and u.brand_id = $2
    and ($3::text[] is null or u.content_type = any ($3))`;
  const values = [accountId, brandId, onlyImages ? DISPLAYED_TYPES : null];
  const [{ rows }, count] = await Promise.all([
    db.query<UploadRow>(
      `select ${UploadModel.columns.join(', ')} from ${source} and ($4::bigint is null or u.id < $4)
       order by u.id desc limit $5 offset $6`,
      [...values, page.after, page.limit, page.offset],
    ),
    countRows(db, source, values),
  ]);
  return { rows, count };
}

/**
 * Deletes an upload of the account unless an avatar, banner or logo refers to it.
 * @returns null if it was not deleted
 */
export async function deleteUnused(
  db: Queryable,
  scope: AccountScope,
  id: number,
): Promise<UploadRow | null> {
  const { rows } = await db.query<UploadRow>(
    `delete from uploads u where id = $1 and account_id = $2 and not ${USED_SQL} returning ${UploadModel.columns.join(', ')}`,
    [id, scope.accountId],
  );
  return rows[0] ?? null;
}

/** Returns the total size of the account's uploads, in bytes. */
export async function usedBytes(db: Queryable, { accountId }: AccountScope): Promise<number> {
  const { rows } = await db.query<{ bytes: number }>(
    'select coalesce(sum(size), 0)::bigint as bytes from uploads where account_id = $1',
    [accountId],
  );
  return Number(rows[0]?.bytes ?? 0);
}

/**
 * Returns the total size of the account's uploads, in bytes. Concurrent uploads of one account wait here until the
 * previous one has committed, so that together they cannot exceed the quota.
 * @param trx the transaction that inserts the upload
 */
export async function bytesUnderLock(trx: Queryable, scope: AccountScope): Promise<number> {
  await trx.query(`select pg_advisory_xact_lock(hashtextextended('uploads ' || $1::text, 0))`, [
    scope.accountId,
  ]);
  return usedBytes(trx, scope);
}
