import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '../db/queryable.ts';
import { notFound } from '../errors.ts';
import { generateKey, parseKey } from './key.ts';

/** An API key without its secret. */
export interface ApiKey {
  id: number;
  accountId: number;
  brandId: number;
  name: string;
  /** The first characters, to tell keys apart by. */
  displayPrefix: string;
  test: boolean;
  /** Requests a second; null: the setting RATE_LIMIT_PER_KEY; 0: no limit. */
  rateLimitPerSecond: number | null;
  lastUsedAt: Date | null;
  revokedAt: Date | null;
  createdAt: Date;
}

export interface NewApiKey {
  accountId: number;
  /** By default the account's first. */
  brandId?: number;
  name?: string;
  test?: boolean;
  rateLimitPerSecond?: number | null;
}

/** How long an API process may let a key in without asking again. */
export const KEY_LEASE_MS = 1_000;
const CLOCK_SLACK_MS = 50;

const COLUMNS = `id, account_id as "accountId", brand_id as "brandId", name, display_prefix as "displayPrefix", test,
  rate_limit_per_second as "rateLimitPerSecond", last_used_at as "lastUsedAt", revoked_at as "revokedAt",
  created_at as "createdAt"`;

/**
 * Make a key of a brand.
 * @returns the record, and the key, which cannot be had again
 * @throws AppError `not_found` where the account has no such brand, or no brand yet
 */
export async function createApiKey(
  db: Queryable,
  input: NewApiKey,
): Promise<{ apiKey: ApiKey; key: string }> {
  const made = generateKey(input.test ?? false);
  const { rows } = await db.query<ApiKey>(
    `insert into api_keys (account_id, brand_id, name, display_prefix, digest, test, rate_limit_per_second)
     select account_id, id, $3, $4, $5, $6, $7 from brands
     where account_id = $1 and ($2::bigint is null or id = $2)
     order by id limit 1
     returning ${COLUMNS}`,
    [
      input.accountId,
      input.brandId ?? null,
      input.name ?? '',
      made.displayPrefix,
      made.digest,
      made.test,
      input.rateLimitPerSecond ?? null,
    ],
  );
  const apiKey = rows[0];
  if (!apiKey) throw notFound('brand');
  return { apiKey, key: made.key };
}

/** Newest first, revoked ones included. */
export async function listApiKeys(
  db: Queryable,
  filter: { accountId: number; brandId?: number },
): Promise<ApiKey[]> {
  const { rows } = await db.query<ApiKey>(
    `select ${COLUMNS} from api_keys where account_id = $1 and ($2::bigint is null or brand_id = $2) order by id desc`,
    [filter.accountId, filter.brandId ?? null],
  );
  return rows;
}

/**
 * Refuse a key from now on; harmless where it is revoked already. Not for use in a transaction: it resolves a
 * little more than {@link KEY_LEASE_MS} after its commit, when no API process can let the key in any more.
 * @param scope whose key it must be; without it any account's, which only an operator may
 * @throws AppError `not_found`
 */
export async function revokeApiKey(
  db: Queryable,
  id: number,
  scope: { accountId?: number; brandId?: number } = {},
): Promise<ApiKey> {
  const { rows } = await db.query<ApiKey>(
    `update api_keys set revoked_at = coalesce(revoked_at, now())
     where id = $1 and ($2::bigint is null or account_id = $2) and ($3::bigint is null or brand_id = $3)
     returning ${COLUMNS}`,
    [id, scope.accountId ?? null, scope.brandId ?? null],
  );
  if (!rows[0]) throw notFound('api key');
  await sleep(KEY_LEASE_MS + CLOCK_SLACK_MS);
  return rows[0];
}

/** @returns the live key that `text` is, or null: malformed, unknown or revoked */
export async function findApiKey(db: Queryable, text: string): Promise<ApiKey | null> {
  const parsed = parseKey(text);
  if (!parsed) return null;
  const { rows } = await db.query<ApiKey>(
    `select ${COLUMNS} from api_keys where digest = $1 and revoked_at is null`,
    [parsed.digest],
  );
  return rows[0] ?? null;
}
