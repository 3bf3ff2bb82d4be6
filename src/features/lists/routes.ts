import type pg from 'pg';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import type { Database } from '../../platform/db/database.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { MAX_BULK_ITEMS } from '../../platform/input/bulk-body.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { changeMembers, repeatResults } from './bulk.ts';
import {
  bulkContactsBody,
  bulkContactsResults,
  changeListBody,
  createListBody,
  listListsQuery,
  listParams,
  listReadOnlyFields,
  listSchema,
} from './schema.ts';
import { changeList, createList, deleteList, getList, listLists } from './service.ts';

export interface ListRouteDeps {
  config: Pick<Config, 'SUPPRESS_PLUS_ADDRESSES'>;
  database: Database;
  keyring: Keyring;
}

const PATH = '/v1/my/lists';
const tag = 'Lists';

function listRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: PATH,
    operationId: 'listLists',
    tag,
    summary: 'List contact lists, newest first',
    auth: 'brand',
    testKeys: 'refused',
    query: listListsQuery,
    paginated: true,
    responses: { 200: { description: 'A page of lists.', schema: z.array(listSchema) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { lists, count } = await listLists(pool, input.tenant, input.query, page);
      return paginate(input, page, lists, count);
    },
  });
}

function createRoute(pool: pg.Pool): RouteDefinition {
  return defineIdempotentRoute({
    path: PATH,
    operationId: 'createList',
    tag,
    summary: 'Create a contact list',
    auth: 'brand',
    testKeys: 'refused',
    body: createListBody,
    readOnlyFields: listReadOnlyFields,
    responses: { 201: { description: 'The new list.', schema: listSchema } },
    async handler({ tenant, body }, trx) {
      const list = await createList(trx, tenant, body);
      return { status: 201, body: list, resourceId: list.id };
    },
    load: ({ tenant }, id) => getList(pool, tenant, id),
  });
}

function showRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/:id`,
    operationId: 'showList',
    tag,
    summary: 'Show a contact list',
    auth: 'brand',
    testKeys: 'refused',
    params: listParams,
    responses: { 200: { description: 'The list.', schema: listSchema } },
    async handler({ tenant, params }) {
      return { status: 200, body: await getList(pool, tenant, params.id) };
    },
  });
}

function changeRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'PATCH',
    path: `${PATH}/:id`,
    operationId: 'updateList',
    tag,
    summary: 'Change a contact list',
    auth: 'brand',
    testKeys: 'refused',
    params: listParams,
    body: changeListBody,
    readOnlyFields: listReadOnlyFields,
    responses: { 200: { description: 'The changed list.', schema: listSchema } },
    async handler({ tenant, params, body }) {
      return { status: 200, body: await changeList(pool, tenant, params.id, body) };
    },
  });
}

function deleteRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'DELETE',
    path: `${PATH}/:id`,
    operationId: 'deleteList',
    tag,
    summary: 'Delete a contact list',
    description:
      'Its contacts are not deleted. A list cannot be deleted while a segment, an active or paused flow, or a campaign ' +
      'whose recipients are not all written uses it.',
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    params: listParams,
    responses: { 200: { description: 'The deleted list.', schema: listSchema } },
    errors: ['conflict'],
    async handler({ tenant, params }) {
      const list = await inTransaction(pool, (trx) => deleteList(trx, tenant, params.id));
      return { status: 200, body: list };
    },
  });
}

function bulkRoute({ config, database: { pool }, keyring }: ListRouteDeps): RouteDefinition {
  const deps = { keyring, plusAddresses: config.SUPPRESS_PLUS_ADDRESSES };
  return defineIdempotentRoute({
    path: `${PATH}/:id/contacts/bulk`,
    operationId: 'changeListContacts',
    tag,
    summary: 'Add and remove many contacts of a list',
    description:
      `Takes up to ${MAX_BULK_ITEMS.toLocaleString('en')} email addresses and ids of contacts together, and returns a ` +
      'result for each, those of `add` first. A contact is created for each address in `add` that no contact has. A ' +
      'contact in both arrays is a 422. Adding a contact to a list does not subscribe it.',
    auth: 'brand',
    testKeys: 'refused',
    params: listParams,
    body: bulkContactsBody,
    responses: { 200: { description: 'The results.', schema: bulkContactsResults } },
    async handler({ tenant, params, body, idempotencyKey }, trx) {
      const keep = idempotencyKey !== null;
      const { results, id } = await changeMembers(trx, deps, tenant, params.id, body, keep);
      return { status: 200, body: { results }, resourceId: id ?? 0 };
    },
    async load({ tenant, body }, id) {
      const results = await repeatResults(pool, tenant, id, body);
      return results && { results };
    },
  });
}

/** `/v1/my/lists`, and `POST /v1/my/lists/{id}/contacts/bulk`. */
export function createListRoutes(deps: ListRouteDeps): RouteDefinition[] {
  const { pool } = deps.database;
  return [
    listRoute(pool),
    createRoute(pool),
    showRoute(pool),
    changeRoute(pool),
    deleteRoute(pool),
    bulkRoute(deps),
  ];
}
