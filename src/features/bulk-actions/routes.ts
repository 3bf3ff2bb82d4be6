import type pg from 'pg';
import { z } from 'zod';
import type { Database } from '../../platform/db/database.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { bulkActionParams, bulkActionSchema, createBulkActionBody, listBulkActionsQuery } from './schema.ts';
import { cancelBulkAction, createBulkAction, getBulkAction, listBulkActions } from './service.ts';

export interface BulkActionRouteDeps {
  database: Database;
  waker: Pick<Waker, 'wake'>;
}

const PATH = '/v1/my/contacts/bulk_actions';
const tag = 'Contacts';
const shared = { tag, auth: 'brand', testKeys: 'refused' } as const;

function createRoute({ database: { pool }, waker }: BulkActionRouteDeps): RouteDefinition {
  return defineIdempotentRoute({
    ...shared,
    path: PATH,
    operationId: 'createBulkAction',
    audit: 'keys too',
    summary: 'Delete, unsubscribe or list all contacts that match a filter',
    description:
      'Works in the background: it counts the contacts first, and then changes them, oldest first. Contacts that are ' +
      'created after it has begun are not concerned. With `dry_run`, it only counts. Poll ' +
      '`GET /contacts/bulk_actions/{id}` for the progress.',
    assistants: { asks: ({ dry_run: isDryRun }) => isDryRun !== true },
    body: createBulkActionBody,
    responses: { 201: { description: 'The bulk action, which is queued.', schema: bulkActionSchema } },
    errors: ['conflict'],
    async handler({ tenant, body }, trx) {
      const created = await createBulkAction(trx, tenant, body);
      return { status: 201, body: created, resourceId: created.id, afterCommit: () => waker.wake('outbox') };
    },
    load: ({ tenant }, id) => getBulkAction(pool, tenant, id),
  });
}

function listRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    ...shared,
    method: 'GET',
    path: PATH,
    operationId: 'listBulkActions',
    summary: 'List bulk actions, newest first',
    query: listBulkActionsQuery,
    paginated: true,
    responses: { 200: { description: 'A page of bulk actions.', schema: z.array(bulkActionSchema) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { actions, count } = await listBulkActions(pool, input.tenant, input.query, page);
      return paginate(input, page, actions, count);
    },
  });
}

function getRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    ...shared,
    method: 'GET',
    path: `${PATH}/:id`,
    operationId: 'getBulkAction',
    summary: 'Get a bulk action and its progress',
    params: bulkActionParams,
    responses: { 200: { description: 'The bulk action.', schema: bulkActionSchema } },
    handler: async ({ tenant, params }) => ({
      status: 200,
      body: await getBulkAction(pool, tenant, params.id),
    }),
  });
}

function cancelRoute({ database: { pool }, waker }: BulkActionRouteDeps): RouteDefinition {
  return defineRoute({
    ...shared,
    method: 'POST',
    path: `${PATH}/:id/cancel`,
    operationId: 'cancelBulkAction',
    audit: 'keys too',
    summary: 'Cancel a bulk action',
    description: 'Contacts that are already changed stay changed.',
    idempotency: 'none',
    params: bulkActionParams,
    responses: { 200: { description: 'The canceled bulk action.', schema: bulkActionSchema } },
    errors: ['invalid_transition'],
    async handler({ tenant, params }) {
      const body = await inTransaction(pool, (trx) => cancelBulkAction(trx, tenant, params.id));
      waker.wake('outbox');
      return { status: 200, body };
    },
  });
}

/** `/v1/my/contacts/bulk_actions`, each action, and its cancellation. */
export function createBulkActionRoutes(deps: BulkActionRouteDeps): RouteDefinition[] {
  const { pool } = deps.database;
  return [createRoute(deps), listRoute(pool), getRoute(pool), cancelRoute(deps)];
}
