import type pg from 'pg';
import { z } from 'zod';
import { invalid } from '../../errors.ts';
import type { Database } from '../../platform/db/database.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { findBrandId } from '../brands/service.ts';
import {
  apiKeyParams,
  apiKeyReadOnlyFields,
  apiKeyRoles as roles,
  apiKeySchema,
  changeApiKeyBody,
  changedApiKeyReadOnlyFields,
  createApiKeyBody,
  createdApiKeySchema,
  listApiKeysQuery,
} from './schema.ts';
import {
  changeApiKey,
  createApiKey,
  getApiKey,
  pageOfApiKeys,
  presentApiKey,
  revokeApiKey,
} from './service.ts';

export interface ApiKeyRouteDeps {
  config: { RATE_LIMIT_PER_KEY: number };
  database: Database;
}

const PATH = '/v1/my/api_keys';
const tag = 'API keys';

/** A tenant may lower the operator's limit, but not raise it. 0 means that the operator sets none. */
function requireAllowedRate(rate: number | null | undefined, limit: number): void {
  if (rate && limit !== 0 && rate > limit) {
    throw invalid({ rate_limit_per_second: [`must be at most ${limit}, the limit of this installation`] });
  }
}

function createRoute(pool: pg.Pool, limit: number): RouteDefinition {
  return defineIdempotentRoute({
    path: PATH,
    operationId: 'createApiKey',
    tag,
    summary: 'Create an API key of a brand',
    description:
      'The response contains the key, which is shown only once. A brand has at most 100 valid keys, send-only ones included.',
    auth: 'brand',
    testKeys: 'refused',
    usersOnly: true,
    roles,
    confirm: true,
    body: createApiKeyBody,
    readOnlyFields: apiKeyReadOnlyFields,
    responses: { 201: { description: 'The key', schema: createdApiKeySchema } },
    async handler({ tenant, body }, trx) {
      requireAllowedRate(body.rate_limit_per_second, limit);
      const brandId = await findBrandId(trx, tenant, body.brand_id ?? tenant.brandId);
      if (brandId === null) throw invalid({ brand_id: ['is not a brand of this account'] });
      const { apiKey, key } = await createApiKey(trx, {
        accountId: tenant.accountId,
        brandId,
        name: body.name,
        test: body.test,
        scopes: body.scopes,
        rateLimitPerSecond: body.rate_limit_per_second,
        isLimited: true,
      });
      return { status: 201, body: { ...presentApiKey(apiKey), key }, resourceId: apiKey.id };
    },
    load: async ({ tenant }, id) => ({ ...(await getApiKey(pool, tenant, id)), key: null }),
  });
}

function listRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: PATH,
    operationId: 'listApiKeys',
    tag,
    summary: 'List the API keys of the account, newest first',
    auth: 'account',
    testKeys: 'refused',
    usersOnly: true,
    roles,
    query: listApiKeysQuery,
    paginated: true,
    responses: { 200: { description: 'A page of keys', schema: z.array(apiKeySchema) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { apiKeys, count } = await pageOfApiKeys(pool, input.tenant, input.query, page);
      return paginate(input, page, apiKeys, count);
    },
  });
}

function changeRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'PATCH',
    path: `${PATH}/:id`,
    operationId: 'updateApiKey',
    tag,
    summary: 'Rename an API key',
    auth: 'account',
    testKeys: 'refused',
    usersOnly: true,
    roles,
    params: apiKeyParams,
    body: changeApiKeyBody,
    readOnlyFields: changedApiKeyReadOnlyFields,
    responses: { 200: { description: 'The key', schema: apiKeySchema } },
    async handler({ tenant, params, body }) {
      return { status: 200, body: await changeApiKey(pool, tenant, params.id, body) };
    },
  });
}

function revokeRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'DELETE',
    path: `${PATH}/:id`,
    operationId: 'revokeApiKey',
    tag,
    summary: 'Revoke an API key',
    description: 'When the response arrives, no request with the key is accepted any more.',
    auth: 'account',
    testKeys: 'refused',
    usersOnly: true,
    roles,
    confirm: true,
    params: apiKeyParams,
    responses: { 200: { description: 'The revoked key', schema: apiKeySchema } },
    async handler({ tenant: { accountId }, params }) {
      return { status: 200, body: presentApiKey(await revokeApiKey(pool, params.id, { accountId })) };
    },
  });
}

/** GET, POST, PATCH and DELETE of /v1/my/api_keys. */
export function createApiKeyRoutes({ config, database: { pool } }: ApiKeyRouteDeps): RouteDefinition[] {
  return [
    listRoute(pool),
    createRoute(pool, config.RATE_LIMIT_PER_KEY),
    changeRoute(pool),
    revokeRoute(pool),
  ];
}
