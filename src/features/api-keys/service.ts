import { setTimeout as sleep } from 'node:timers/promises';
import { notFound } from '../../errors.ts';
import { generateKey, parseKey } from '../../platform/auth/api-key.ts';
import { KEY_LEASE_MS } from '../../platform/auth/key-lookup.ts';
import type { AccountScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { findBrandId } from '../brands/service.ts';
import {
  findApiKeys,
  findLiveApiKey,
  insertApiKey,
  updateRevoked,
  type ApiKeyRow,
  type ApiKeyScope,
} from './model.ts';

export type { ApiKeyRow };

export interface NewApiKey {
  accountId: number;
  /** By default the account's first brand. */
  brandId?: number;
  name?: string;
  test?: boolean;
  rateLimitPerSecond?: number | null;
}

/** Allows for differences between the timers of the API processes and of this process. */
const LEASE_MARGIN_MS = 50;

/**
 * Creates a key of a brand.
 * @returns the row, and the key itself, which is not stored and cannot be shown again
 * @throws AppError `not_found` if the account has no such brand, or no brand yet
 */
export async function createApiKey(
  db: Queryable,
  input: NewApiKey,
): Promise<{ apiKey: ApiKeyRow; key: string }> {
  const generated = generateKey(input.test ?? false);
  const brandId = await findBrandId(db, input, input.brandId);
  if (brandId === null) throw notFound('brand');
  const apiKey = await insertApiKey(db, {
    account_id: input.accountId,
    brand_id: brandId,
    name: input.name,
    display_prefix: generated.displayPrefix,
    digest: generated.digest,
    test: generated.test,
    rate_limit_per_second: input.rateLimitPerSecond,
  });
  return { apiKey, key: generated.key };
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
