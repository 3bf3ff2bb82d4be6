import { snakeCaseMappers, type ModelObject } from 'objection';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { TenantModel } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** The kind of the blobs that uploads are kept as. */
export const UPLOAD_BLOBS = 'uploads';

export class UploadModel extends TenantModel {
  static override readonly tableName = 'uploads';
  static override readonly columnNameMappers = snakeCaseMappers();
  static override readonly columns = [
    'id',
    'account_id',
    'brand_id',
    'filename',
    'content_type',
    'size',
    'storage_key',
  ];

  declare accountId: number;
  declare brandId: number;
  declare filename: string;
  /** By its content. */
  declare contentType: string;
  /** Bytes. */
  declare size: number;
  declare storageKey: string;
}

export type Upload = ModelObject<UploadModel>;

export type NewUpload = Omit<Upload, 'id' | 'accountId' | 'brandId'>;

export function insertUpload(trx: Queryable, tenant: Tenant, upload: NewUpload): Promise<Upload> {
  const { accountId, brandId } = tenant;
  return UploadModel.on(trx)
    .insert({ ...upload, accountId, brandId })
    .returning(UploadModel.columns)
    .execute();
}

/** @returns those of the keys that a row names */
export async function findNamedKeys(db: Queryable, keys: readonly string[]): Promise<Set<string>> {
  const { rows } = await db.query<{ key: string }>(
    'select storage_key as key from uploads where storage_key = any ($1)',
    [keys],
  );
  return new Set(rows.map((row) => row.key));
}

/** Keys that the newest rows name. */
export async function findNewestKeys(db: Queryable, most: number): Promise<string[]> {
  const { rows } = await db.query<{ key: string }>(
    'select storage_key as key from uploads order by id desc limit $1',
    [most],
  );
  return rows.map((row) => row.key);
}
