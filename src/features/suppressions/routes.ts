import type pg from 'pg';
import { z } from 'zod';
import { createRecipientFence, type RecipientFence } from '../../delivery/ledger/consent/recipient-fence.ts';
import type { Database } from '../../platform/db/database.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { MAX_BULK_ITEMS } from '../../platform/input/bulk-body.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import {
  bulkResultsSchema,
  bulkSuppressionsBody,
  createSuppressionBody,
  listSuppressionsQuery,
  suppressionParams,
  suppressionReadOnlyFields,
  suppressionSchema,
} from './schema.ts';
import {
  changeSuppressions,
  createSuppression,
  endSuppression,
  listSuppressions,
  loadSuppression,
} from './service.ts';

export interface SuppressionRouteDeps {
  database: Database;
}

const PATH = '/v1/my/suppressions';
const tag = 'Suppressions';

const FENCED =
  'After the response, only batches that are already on their way to a provider can still reach it.';

function listRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: PATH,
    operationId: 'listSuppressions',
    tag,
    summary: 'List suppressed addresses, newest first',
    auth: 'brand',
    testKeys: 'refused',
    assistants: { allBrands: 'always' },
    query: listSuppressionsQuery,
    paginated: true,
    responses: { 200: { description: 'A page of suppressions.', schema: z.array(suppressionSchema) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { suppressions, count } = await listSuppressions(pool, input.tenant, input.query, page);
      return paginate(input, page, suppressions, count);
    },
  });
}

function createRoute(pool: pg.Pool, fence: RecipientFence): RouteDefinition {
  return defineIdempotentRoute({
    path: PATH,
    operationId: 'createSuppression',
    tag,
    summary: 'Suppress an address manually',
    description: `No message of the account is sent to the address. ${FENCED} 200 if it was already suppressed.`,
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    assistants: { allBrands: 'always' },
    body: createSuppressionBody,
    readOnlyFields: suppressionReadOnlyFields,
    responses: {
      200: { description: 'The existing suppression.', schema: suppressionSchema },
      201: { description: 'The new suppression.', schema: suppressionSchema },
    },
    async handler({ tenant, body }, trx) {
      const { suppression, created } = await createSuppression(trx, tenant, body);
      const afterCommit = () => fence.wait(tenant.accountId);
      return { status: created ? 201 : 200, body: suppression, resourceId: suppression.id, afterCommit };
    },
    async load({ tenant }, id) {
      // The first request may have failed after its commit, without a response.
      await fence.wait(tenant.accountId);
      return loadSuppression(pool, tenant, id);
    },
  });
}

function endRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'DELETE',
    path: `${PATH}/:id`,
    operationId: 'deleteSuppression',
    tag,
    summary: 'End a suppression',
    description:
      'Messages to the address are sent again. The suppression stays in the list with `active=false`, and `ended_by` names ' +
      'who ended it. Only an owner or admin who has logged in can end complaints and hard bounces, not an API key.',
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    assistants: { allBrands: 'always' },
    params: suppressionParams,
    responses: { 200: { description: 'The ended suppression.', schema: suppressionSchema } },
    errors: ['forbidden'],
    async handler({ tenant, params }) {
      return { status: 200, body: await endSuppression(pool, tenant, params.id) };
    },
  });
}

function bulkRoute(pool: pg.Pool, fence: RecipientFence): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: `${PATH}/bulk`,
    operationId: 'changeSuppressions',
    tag,
    summary: 'Suppress and release many addresses',
    description:
      `Takes up to ${MAX_BULK_ITEMS.toLocaleString('en')} addresses together, and returns a result for each, those of ` +
      `\`add\` first. An address in both arrays is a 422. Only an owner or admin who has ` +
      `logged in can remove a complaint or hard bounce. ${FENCED} Repeating the request does no harm.`,
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    idempotency: 'none',
    assistants: { asks: ({ remove }) => remove !== undefined, allBrands: 'always' },
    body: bulkSuppressionsBody,
    responses: { 200: { description: 'The results.', schema: bulkResultsSchema } },
    async handler({ tenant, body }) {
      const results = await changeSuppressions(pool, tenant, body);
      await fence.wait(tenant.accountId);
      return { status: 200, body: { results } };
    },
  });
}

/** `GET`, `POST` and `DELETE /v1/my/suppressions`, and `POST /v1/my/suppressions/bulk`. */
export function createSuppressionRoutes({ database: { pool } }: SuppressionRouteDeps): RouteDefinition[] {
  const fence = createRecipientFence(pool);
  return [listRoute(pool), createRoute(pool, fence), bulkRoute(pool, fence), endRoute(pool)];
}
