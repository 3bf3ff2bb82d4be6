import type { AccountScope } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** A key of either table, without the digest. */
export interface ApiKeyRow {
  id: number;
  account_id: number;
  brand_id: number;
  name: string;
  /** The first characters of the key, by which people recognize it. */
  display_prefix: string;
  test: boolean;
  /** What it may do; null: what an admin may. */
  scopes: ['send'] | null;
  /** Requests per second; null: the setting RATE_LIMIT_PER_KEY; 0: no limit. */
  rate_limit_per_second: number | null;
  last_used_at: Date | null;
  revoked_at: Date | null;
  created_at: Date;
}

export interface NewKeyRow extends Pick<
  ApiKeyRow,
  'account_id' | 'brand_id' | 'display_prefix' | 'test' | 'scopes'
> {
  name?: string | undefined;
  rate_limit_per_second?: number | null | undefined;
  /** SHA-256 of the key. It is stored and searched for, but never read. */
  digest: Buffer;
}

/** Limits a query to an account or to one of its brands. Empty: no limit. */
export interface ApiKeyScope extends Partial<AccountScope> {
  brandId?: number;
}

const SHARED_COLUMNS =
  'id, account_id, brand_id, name, display_prefix, rate_limit_per_second, last_used_at, revoked_at, created_at';

/**
 * SQL: the tables of keys, and their columns in the same order. Send-only keys have a table of their own, and no id of the
 * other one: migration 0153.
 */
const TABLES = {
  api_keys: `${SHARED_COLUMNS}, test, null::text[] as scopes`,
  send_keys: `${SHARED_COLUMNS}, false as test, array['send'] as scopes`,
};

/** SQL: the keys of both tables. */
const KEYS = `(${Object.entries(TABLES)
  .map(([table, columns]) => `select ${columns}, digest from ${table}`)
  .join(' union all ')}) k`;

/** SQL: the valid keys of the brand `$1`. */
export const VALID_KEYS_OF_BRAND = `${KEYS} where brand_id = $1 and revoked_at is null`;

const ALL_COLUMNS = `${SHARED_COLUMNS}, test, scopes`;

export async function insertApiKey(db: Queryable, row: NewKeyRow): Promise<ApiKeyRow> {
  const shared = 'account_id, brand_id, name, display_prefix, rate_limit_per_second, digest';
  const values = [
    row.account_id,
    row.brand_id,
    row.name ?? '',
    row.display_prefix,
    row.rate_limit_per_second ?? null,
    row.digest,
  ];
  const { rows } = await (row.scopes === null
    ? db.query<ApiKeyRow>(
        `insert into api_keys (${shared}, test) values ($1, $2, $3, $4, $5, $6, $7) returning ${TABLES.api_keys}`,
        [...values, row.test],
      )
    : db.query<ApiKeyRow>(
        `insert into send_keys (${shared}) values ($1, $2, $3, $4, $5, $6) returning ${TABLES.send_keys}`,
        values,
      ));
  return rows[0] as ApiKeyRow;
}

/** SQL: the keys of {@link ApiKeyScope} `$1`, `$2`. */
const IN_SCOPE = '($1::bigint is null or account_id = $1) and ($2::bigint is null or brand_id = $2)';
const scopeValues = ({ accountId, brandId }: ApiKeyScope) => [accountId ?? null, brandId ?? null];

/** @returns the account's keys, or those of one brand, newest first */
export async function findApiKeys(db: Queryable, scope: AccountScope & ApiKeyScope): Promise<ApiKeyRow[]> {
  const { rows } = await db.query<ApiKeyRow>(
    `select ${ALL_COLUMNS} from ${KEYS} where ${IN_SCOPE} order by id desc`,
    scopeValues(scope),
  );
  return rows;
}

/** The keys that a list shows. */
export interface ApiKeyFilters {
  brand_id?: number | undefined;
  revoked: boolean;
}

const FILTERED = `${KEYS} where account_id = $1 and ($2::bigint is null or brand_id = $2) and (revoked_at is not null) = $3`;
const filterValues = ({ accountId }: AccountScope, { brand_id: brandId, revoked }: ApiKeyFilters) => [
  accountId,
  brandId ?? null,
  revoked,
];

/** Newest first. */
export async function findApiKeyPage(
  db: Queryable,
  scope: AccountScope,
  filters: ApiKeyFilters,
  page: Page,
): Promise<ApiKeyRow[]> {
  const { rows } = await db.query<ApiKeyRow>(
    `select ${ALL_COLUMNS} from ${FILTERED} and ($4::bigint is null or id < $4)
     order by id desc limit $5 offset $6`,
    [...filterValues(scope, filters), page.after, page.limit, page.offset],
  );
  return rows;
}

export const countApiKeys = (db: Queryable, scope: AccountScope, filters: ApiKeyFilters): Promise<RowCount> =>
  countRows(db, FILTERED, filterValues(scope, filters));

/** @returns null if the account has no such key */
export async function findApiKey(
  db: Queryable,
  { accountId }: AccountScope,
  id: number,
): Promise<ApiKeyRow | null> {
  const { rows } = await db.query<ApiKeyRow>(
    `select ${ALL_COLUMNS} from ${KEYS} where account_id = $1 and id = $2`,
    [accountId, id],
  );
  return rows[0] ?? null;
}

/** Changes the key of the scope that has this id, whichever table it is in. @param set SQL with parameters from `$4` */
async function updateKey(
  db: Queryable,
  id: number,
  scope: ApiKeyScope,
  set: string,
  values: readonly unknown[] = [],
): Promise<ApiKeyRow | null> {
  const update = (table: keyof typeof TABLES) =>
    `update ${table} set ${set} where ${IN_SCOPE} and id = $3 returning ${TABLES[table]}`;
  const { rows } = await db.query<ApiKeyRow>(
    `with changed as (${update('api_keys')}), changed_send as (${update('send_keys')})
     select * from changed union all select * from changed_send`,
    [...scopeValues(scope), id, ...values],
  );
  return rows[0] ?? null;
}

/** @returns null if the account has no such key */
export const updateApiKey = (
  db: Queryable,
  scope: AccountScope,
  id: number,
  { name }: { name: string },
): Promise<ApiKeyRow | null> => updateKey(db, id, { accountId: scope.accountId }, 'name = $4', [name]);

/** @returns the key with this digest; null if there is none, or it is revoked */
export async function findLiveApiKey(db: Queryable, digest: Buffer): Promise<ApiKeyRow | null> {
  const { rows } = await db.query<ApiKeyRow>(
    `select ${ALL_COLUMNS} from ${KEYS} where digest = $1 and revoked_at is null`,
    [digest],
  );
  return rows[0] ?? null;
}

/**
 * Revokes a key. A key that is already revoked keeps its time.
 * @returns null if the scope has no such key
 */
export const updateRevoked = (db: Queryable, id: number, scope: ApiKeyScope): Promise<ApiKeyRow | null> =>
  updateKey(db, id, scope, 'revoked_at = coalesce(revoked_at, now())');
