import { setTimeout as sleep } from 'node:timers/promises';
import { raw } from 'objection';
import { notFound } from '../../errors.ts';
import { generateKey, parseKey } from '../../platform/auth/api-key.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { BrandModel } from '../brands/model.ts';
import { ApiKeyModel, insertApiKey, type ApiKey } from './model.ts';

export type { ApiKey };

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
  const [brand] = await BrandModel.ofAccount(input, db)
    .where(input.brandId === undefined ? {} : { id: input.brandId })
    .orderBy('id')
    .limit(1)
    .select('id');
  if (!brand) throw notFound('brand');
  const apiKey = await insertApiKey(db, {
    accountId: input.accountId,
    brandId: brand.id,
    name: input.name,
    displayPrefix: made.displayPrefix,
    digest: made.digest,
    test: made.test,
    rateLimitPerSecond: input.rateLimitPerSecond,
  });
  return { apiKey, key: made.key };
}

/** Newest first, revoked ones included. */
export async function listApiKeys(
  db: Queryable,
  filter: { accountId: number; brandId?: number },
): Promise<ApiKey[]> {
  return ApiKeyModel.ofAccount(filter, db)
    .where(filter.brandId === undefined ? {} : { brand_id: filter.brandId })
    .orderBy('id', 'desc')
    .select(ApiKeyModel.columns);
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
  const { accountId, brandId } = scope;
  const [apiKey] = await ApiKeyModel.on(db)
    .where('id', id)
    .where(accountId === undefined ? {} : { account_id: accountId })
    .where(brandId === undefined ? {} : { brand_id: brandId })
    .patch({ revokedAt: raw('coalesce(revoked_at, now())') })
    .returning(ApiKeyModel.columns);
  if (!apiKey) throw notFound('api key');
  await sleep(KEY_LEASE_MS + CLOCK_SLACK_MS);
  return apiKey;
}

/** @returns the live key that `text` is, or null: malformed, unknown or revoked */
export async function findApiKey(db: Queryable, text: string): Promise<ApiKey | null> {
  const parsed = parseKey(text);
  if (!parsed) return null;
  const [apiKey] = await ApiKeyModel.on(db)
    .where('digest', parsed.digest)
    .whereNull('revoked_at')
    .select(ApiKeyModel.columns);
  return apiKey ?? null;
}
