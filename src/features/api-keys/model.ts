import { snakeCaseMappers, type ModelObject, type PartialModelObject } from 'objection';
import { TenantModel } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

export class ApiKeyModel extends TenantModel {
  static override readonly tableName = 'api_keys';
  static override readonly columnNameMappers = snakeCaseMappers();
  static override readonly columns = [
    'id',
    'account_id',
    'brand_id',
    'name',
    'display_prefix',
    'test',
    'rate_limit_per_second',
    'last_used_at',
    'revoked_at',
    'created_at',
  ];

  declare accountId: number;
  declare brandId: number;
  declare name: string;
  /** The first characters, to tell keys apart by. */
  declare displayPrefix: string;
  /** SHA-256 of the key; written, and looked up by, but never read. */
  declare digest: Buffer;
  declare test: boolean;
  /** Requests a second; null: the setting RATE_LIMIT_PER_KEY; 0: no limit. */
  declare rateLimitPerSecond: number | null;
  declare lastUsedAt: Date | null;
  declare revokedAt: Date | null;
  declare createdAt: Date;
}

/** An API key without its secret. */
export type ApiKey = Omit<ModelObject<ApiKeyModel>, 'digest'>;

/** @returns the row as it is read, so without the digest */
export async function insertApiKey(db: Queryable, row: PartialModelObject<ApiKeyModel>): Promise<ApiKey> {
  const { digest: _kept, ...apiKey } = await ApiKeyModel.on(db).insert(row).returning(ApiKeyModel.columns);
  return apiKey;
}
