import type { ModelObject } from 'objection';
import { TenantModel, type AccountScope, type BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

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
  ];

  declare account_id: number;
  declare brand_id: number;
  declare filename: string;
  /** Detected from the content. */
  declare content_type: string;
  /** Bytes. */
  declare size: number;
  declare storage_key: string;
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
