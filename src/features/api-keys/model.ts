import { raw, type ModelObject, type PartialModelObject } from 'objection';
import { TenantModel, type AccountScope } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

class ApiKeyModel extends TenantModel {
  static override readonly tableName = 'api_keys';
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

  declare account_id: number;
  declare brand_id: number;
  declare name: string;
  /** The first characters of the key, by which people recognize it. */
  declare display_prefix: string;
  /** SHA-256 of the key. It is stored and searched for, but never read. */
  declare digest: Buffer;
  declare test: boolean;
  /** Requests per second; null: the setting RATE_LIMIT_PER_KEY; 0: no limit. */
  declare rate_limit_per_second: number | null;
  declare last_used_at: Date | null;
  declare revoked_at: Date | null;
  declare created_at: Date;
}

/** A row of `api_keys`, without the digest. */
export type ApiKeyRow = Omit<ModelObject<ApiKeyModel>, 'digest'>;

/** Limits a query to an account or to one of its brands. Empty: no limit. */
export interface ApiKeyScope extends Partial<AccountScope> {
  brandId?: number;
}

export async function insertApiKey(db: Queryable, row: PartialModelObject<ApiKeyModel>): Promise<ApiKeyRow> {
  // The inserted object contains the digest; the result is the row as a query would read it.
  const { digest: _digest, ...apiKey } = await ApiKeyModel.on(db).insert(row).returning(ApiKeyModel.columns);
  return apiKey;
}

/** @returns the account's keys, or those of one brand, newest first */
export function findApiKeys(db: Queryable, scope: AccountScope & ApiKeyScope): Promise<ApiKeyRow[]> {
  return inScope(db, scope).orderBy('id', 'desc').select(ApiKeyModel.columns).execute();
}

/** The keys that a list shows. */
export interface ApiKeyFilters {
  brand_id?: number | undefined;
  revoked: boolean;
}

/** Newest first. */
export async function findApiKeyPage(
  db: Queryable,
  scope: AccountScope,
  { brand_id, revoked }: ApiKeyFilters,
  page: Page,
): Promise<ApiKeyRow[]> {
  const query = ApiKeyModel.ofAccount(db, scope).select(ApiKeyModel.columns).orderBy('id', 'desc');
  void (revoked ? query.whereNotNull('revoked_at') : query.whereNull('revoked_at'));
  if (brand_id !== undefined) void query.where('brand_id', brand_id);
  if (page.after !== null) void query.where('id', '<', page.after);
  return query.limit(page.limit).offset(page.offset);
}

export function countApiKeys(
  db: Queryable,
  { accountId }: AccountScope,
  { brand_id, revoked }: ApiKeyFilters,
): Promise<RowCount> {
  return countRows(
    db,
    `api_keys where account_id = $1 and ($2::bigint is null or brand_id = $2) and (revoked_at is not null) = $3`,
    [accountId, brand_id ?? null, revoked],
  );
}

/** @returns null if the account has no such key */
export function findApiKey(db: Queryable, scope: AccountScope, id: number): Promise<ApiKeyRow | null> {
  return ApiKeyModel.findInAccount(db, scope, id);
}

/** @returns null if the account has no such key */
export async function updateApiKey(
  db: Queryable,
  scope: AccountScope,
  id: number,
  changes: { name: string },
): Promise<ApiKeyRow | null> {
  const [apiKey] = await ApiKeyModel.ofAccount(db, scope)
    .where('id', id)
    .patch(changes)
    .returning(ApiKeyModel.columns);
  return apiKey ?? null;
}

/** @returns the key with this digest; null if there is none, or it is revoked */
export async function findLiveApiKey(db: Queryable, digest: Buffer): Promise<ApiKeyRow | null> {
  const [apiKey] = await ApiKeyModel.on(db)
    .where('digest', digest)
    .whereNull('revoked_at')
    .select(ApiKeyModel.columns);
  return apiKey ?? null;
}

/**
 * Revokes a key. A key that is already revoked keeps its time.
 * @returns null if the scope has no such key
 */
export async function updateRevoked(
  db: Queryable,
  id: number,
  scope: ApiKeyScope,
): Promise<ApiKeyRow | null> {
  const [apiKey] = await inScope(db, scope)
    .where('id', id)
    .patch({ revoked_at: raw('coalesce(revoked_at, now())') })
    .returning(ApiKeyModel.columns);
  return apiKey ?? null;
}

function inScope(db: Queryable, { accountId, brandId }: ApiKeyScope) {
  return ApiKeyModel.on(db)
    .where(accountId === undefined ? {} : { account_id: accountId })
    .where(brandId === undefined ? {} : { brand_id: brandId });
}
