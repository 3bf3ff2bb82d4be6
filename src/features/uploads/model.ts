import type { ModelObject } from 'objection';
import { TenantModel, type AccountScope, type BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
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
}

/** A row of `uploads`. */
export type UploadRow = ModelObject<UploadModel>;

/** A stored file whose row is not inserted yet. */
export type NewUpload = Omit<UploadRow, 'id' | 'account_id' | 'brand_id'>;

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

/**
 * Returns the total size of the account's uploads, in bytes. Concurrent uploads of one account wait here until the
 * previous one has committed, so that together they cannot exceed the quota.
 * @param trx the transaction that inserts the upload
 */
export async function bytesUnderLock(trx: Queryable, { accountId }: AccountScope): Promise<number> {
  await trx.query(`select pg_advisory_xact_lock(hashtextextended('uploads ' || $1::text, 0))`, [accountId]);
  const { rows } = await trx.query<{ bytes: number }>(
    'select coalesce(sum(size), 0)::bigint as bytes from uploads where account_id = $1',
    [accountId],
  );
  return Number(rows[0]?.bytes ?? 0);
}
