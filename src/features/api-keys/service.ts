import { setTimeout as sleep } from 'node:timers/promises';
import { invalid, notFound } from '../../errors.ts';
import { generateKey, parseKey } from '../../platform/auth/api-key.ts';
import { KEY_LEASE_MS } from '../../platform/auth/key-lookup.ts';
import { countUnderLock } from '../../platform/db/brand-limit.ts';
import type { AccountScope } from '../../platform/db/model.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { findBrandId } from '../brands/service.ts';
import {
  countApiKeys,
  findApiKey as findRow,
  findApiKeyPage,
  findApiKeys,
  findLiveApiKey,
  insertApiKey,
  updateApiKey,
  updateRevoked,
  VALID_KEYS_OF_BRAND,
  type ApiKeyRow,
  type ApiKeyScope,
} from './model.ts';
import type { ApiKey, ListApiKeysQuery } from './schema.ts';

export type { ApiKeyRow };

export interface NewApiKey {
  accountId: number;
  /** By default the account's first brand. */
  brandId?: number;
  name?: string;
  test?: boolean;
  /** `send`: a send-only key, which is no test key. Null, and by default: what an admin may do. */
  scopes?: ['send'] | null | undefined;
  rateLimitPerSecond?: number | null;
  /** Whether the number of keys is limited; not for operators. */
  isLimited?: boolean;
}

/** Maximum number of valid keys that tenants create for a brand. */
const MAX_KEYS_PER_BRAND = 100;

/** Allows for differences between the timers of the API processes and of this process. */
const LEASE_MARGIN_MS = 50;

/**
 * Creates a key of a brand.
 * @param db if the number of keys is limited, the client of a transaction
 * @returns the row, and the key itself, which is not stored and cannot be shown again
 * @throws AppError `not_found` if the account has no such brand, or no brand yet; `validation_error` beyond the limit,
 *   and for a test key with scopes
 */
export async function createApiKey(
  db: Queryable,
  input: NewApiKey,
): Promise<{ apiKey: ApiKeyRow; key: string }> {
  const { scopes = null, test = false } = input;
  if (test && scopes) throw invalid({ scopes: ['cannot be given with `test`: a test key sends nothing'] });
  const generated = generateKey(scopes ? 'send' : test ? 'test' : 'live');
  const brandId = await findBrandId(db, input, input.brandId);
  if (brandId === null) throw notFound('brand');
  if (input.isLimited) await requireRoom(db, brandId);
  const apiKey = await insertApiKey(db, {
    account_id: input.accountId,
    brand_id: brandId,
    name: input.name,
    display_prefix: generated.displayPrefix,
    digest: generated.digest,
    test,
    scopes,
    rate_limit_per_second: input.rateLimitPerSecond,
  });
  return { apiKey, key: generated.key };
}

async function requireRoom(trx: Queryable, brandId: number): Promise<void> {
  const keys = await countUnderLock(trx, brandId, VALID_KEYS_OF_BRAND);
  if (keys < MAX_KEYS_PER_BRAND) return;
  throw invalid({ api_keys: [`are limited to ${MAX_KEYS_PER_BRAND} for each brand; revoke one first`] });
}

export function presentApiKey(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    brand_id: row.brand_id,
    name: row.name,
    prefix: row.display_prefix,
    test: row.test,
    scopes: row.scopes,
    rate_limit_per_second: row.rate_limit_per_second,
    last_used_at: row.last_used_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
  };
}

/** Lists the valid or the revoked keys of an account, newest first. */
export async function pageOfApiKeys(
  db: Queryable,
  scope: AccountScope,
  query: ListApiKeysQuery,
  page: Page,
): Promise<{ apiKeys: ApiKey[]; count: RowCount }> {
  const rows = await findApiKeyPage(db, scope, query, page);
  return { apiKeys: rows.map(presentApiKey), count: await countApiKeys(db, scope, query) };
}

/** @throws AppError not_found */
export async function getApiKey(db: Queryable, scope: AccountScope, id: number): Promise<ApiKey> {
  const row = await findRow(db, scope, id);
  if (!row) throw notFound('api key');
  return presentApiKey(row);
}

/** @throws AppError not_found */
export async function changeApiKey(
  db: Queryable,
  scope: AccountScope,
  id: number,
  changes: { name?: string | undefined },
): Promise<ApiKey> {
  if (changes.name === undefined) return getApiKey(db, scope, id);
  const row = await updateApiKey(db, scope, id, { name: changes.name });
  if (!row) throw notFound('api key');
  return presentApiKey(row);
}

/** Returns an account's keys, newest first, including revoked ones. */
export function listApiKeys(db: Queryable, scope: AccountScope & ApiKeyScope): Promise<ApiKeyRow[]> {
  return findApiKeys(db, scope);
}

/**
 * Revokes a key. Revoking it again changes nothing. Do not call it inside a transaction: it returns a little more than
 * {@link KEY_LEASE_MS} after its own commit, when no API process accepts the key any more.
 * @param scope the account or brand that must own the key; an operator may leave it empty
 * @throws AppError `not_found`
 */
export async function revokeApiKey(db: Queryable, id: number, scope: ApiKeyScope = {}): Promise<ApiKeyRow> {
  const apiKey = await updateRevoked(db, id, scope);
  if (!apiKey) throw notFound('api key');
  await sleep(KEY_LEASE_MS + LEASE_MARGIN_MS);
  return apiKey;
}

/** @returns the row of a key that a client sent; null if the key is malformed, unknown or revoked */
export async function findApiKey(db: Queryable, key: string): Promise<ApiKeyRow | null> {
  const parsed = parseKey(key);
  return parsed && findLiveApiKey(db, parsed.digest);
}
