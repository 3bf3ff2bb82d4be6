import { snakeCaseMappers, type ModelObject } from 'objection';
import type { Tenant } from '../auth/tenant.ts';
import { TenantModel } from '../db/model.ts';
import type { Queryable } from '../db/queryable.ts';

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
