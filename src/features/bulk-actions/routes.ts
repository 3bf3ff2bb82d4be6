import type pg from 'pg';
import { z } from 'zod';
import type { Role } from '../../platform/auth/tenant.ts';
import type { Database } from '../../platform/db/database.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import type { ActionSubject } from './model.ts';
import {
  bulkActionParams,
  bulkActionSchema,
  conversationActionSchema,
  createBulkActionBody,
  createConversationActionBody,
  listBulkActionsQuery,
  listConversationActionsQuery,
} from './schema.ts';
import {
  cancelBulkAction,
  createBulkAction,
  createConversationAction,
  getBulkAction,
  listBulkActions,
} from './service.ts';

export interface BulkActionRouteDeps {
  database: Database;
  waker: Pick<Waker, 'wake'>;
}

/** What the routes of actions on contacts and of those on conversations differ in. */
interface Kind {
  subject: ActionSubject;
  /** The noun of the operation ids. */
  noun: string;
  path: string;
  shared: { tag: string; auth: 'brand'; testKeys: 'refused'; roles?: Role[] };
  schema: typeof bulkActionSchema | typeof conversationActionSchema;
  query: typeof listBulkActionsQuery | typeof listConversationActionsQuery;
}

const ofContacts = {
  subject: 'contacts',
  noun: 'BulkAction',
  path: '/v1/my/contacts/bulk_actions',
  shared: { tag: 'Contacts', auth: 'brand', testKeys: 'refused' },
  schema: bulkActionSchema,
  query: listBulkActionsQuery,
} as const satisfies Kind;

const ofConversations = {
  subject: 'conversations',
  noun: 'ConversationBulkAction',
  path: '/v1/my/conversations/bulk_actions',
  // As those who may delete one conversation.
  shared: { tag: 'Conversations', auth: 'brand', testKeys: 'refused', roles: ['owner', 'admin'] as Role[] },
  schema: conversationActionSchema,
  query: listConversationActionsQuery,
} as const satisfies Kind;

const QUEUED = 'The bulk action, which is queued.';

function createRoute({ database: { pool }, waker }: BulkActionRouteDeps): RouteDefinition {
  return defineIdempotentRoute({
    ...ofContacts.shared,
    path: ofContacts.path,
    operationId: 'createBulkAction',
    audit: 'keys too',
    summary: 'Delete, unsubscribe or list all contacts that match a filter',
    description:
      'Works in the background: it counts the contacts first, and then changes them, oldest first. Contacts that are ' +
      'created after it has begun are not concerned. With `dry_run`, it only counts. Poll ' +
      '`GET /contacts/bulk_actions/{id}` for the progress.',
    assistants: { asks: ({ dry_run: isDryRun }) => isDryRun !== true },
    body: createBulkActionBody,
    responses: { 201: { description: QUEUED, schema: bulkActionSchema } },
    errors: ['conflict'],
    async handler({ tenant, body }, trx) {
      const created = await createBulkAction(trx, tenant, body);
      return { status: 201, body: created, resourceId: created.id, afterCommit: () => waker.wake('outbox') };
    },
    load: ({ tenant }, id) => getBulkAction(pool, tenant, 'contacts', id),
  });
}

function createConversationsRoute({ database: { pool }, waker }: BulkActionRouteDeps): RouteDefinition {
  return defineIdempotentRoute({
    ...ofConversations.shared,
    path: ofConversations.path,
    operationId: 'createConversationBulkAction',
    audit: 'keys too',
    summary: 'Delete all conversations that match a filter',
    description:
      'Works in the background: it counts the conversations first, and then deletes them, oldest first, as ' +
      '`DELETE /conversations/{id}` does. Conversations that begin later are not concerned. With `dry_run`, it only ' +
      'counts. Poll `GET /conversations/bulk_actions/{id}` for the progress.',
    assistants: { mail: 'always', asks: ({ dry_run: isDryRun }) => isDryRun !== true },
    body: createConversationActionBody,
    responses: { 201: { description: QUEUED, schema: conversationActionSchema } },
    errors: ['conflict'],
    async handler({ tenant, body }, trx) {
      const created = await createConversationAction(trx, tenant, body);
      return { status: 201, body: created, resourceId: created.id, afterCommit: () => waker.wake('outbox') };
    },
    load: ({ tenant }, id) => getBulkAction(pool, tenant, 'conversations', id),
  });
}

function listRoute(pool: pg.Pool, { subject, noun, path, shared, schema, query }: Kind): RouteDefinition {
  return defineRoute({
    ...shared,
    method: 'GET',
    path,
    operationId: `list${noun}s`,
    summary: `List bulk actions on ${subject}, newest first`,
    query,
    paginated: true,
    responses: { 200: { description: 'A page of bulk actions.', schema: z.array(schema) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { actions, count } = await listBulkActions(pool, input.tenant, subject, input.query, page);
      return paginate(input, page, actions, count);
    },
  });
}

function getRoute(pool: pg.Pool, { subject, noun, path, shared, schema }: Kind): RouteDefinition {
  return defineRoute({
    ...shared,
    method: 'GET',
    path: `${path}/:id`,
    operationId: `get${noun}`,
    summary: `Get a bulk action on ${subject} and its progress`,
    params: bulkActionParams,
    responses: { 200: { description: 'The bulk action.', schema } },
    handler: async ({ tenant, params }) => ({
      status: 200,
      body: await getBulkAction(pool, tenant, subject, params.id),
    }),
  });
}

function cancelRoute(
  { database: { pool }, waker }: BulkActionRouteDeps,
  { subject, noun, path, shared, schema }: Kind,
): RouteDefinition {
  return defineRoute({
    ...shared,
    method: 'POST',
    path: `${path}/:id/cancel`,
    operationId: `cancel${noun}`,
    audit: 'keys too',
    summary: `Cancel a bulk action on ${subject}`,
    description: `What was done to ${subject} until then stays.`,
    idempotency: 'none',
    params: bulkActionParams,
    responses: { 200: { description: 'The canceled bulk action.', schema } },
    errors: ['invalid_transition'],
    async handler({ tenant, params }) {
      const body = await inTransaction(pool, (trx) => cancelBulkAction(trx, tenant, subject, params.id));
      waker.wake('outbox');
      return { status: 200, body };
    },
  });
}

/** `bulk_actions` of contacts and of conversations, each action, and its cancellation. */
export function createBulkActionRoutes(deps: BulkActionRouteDeps): RouteDefinition[] {
  const { pool } = deps.database;
  return [
    createRoute(deps),
    createConversationsRoute(deps),
    ...[ofContacts, ofConversations].flatMap((kind) => [
      listRoute(pool, kind),
      getRoute(pool, kind),
      cancelRoute(deps, kind),
    ]),
  ];
}
