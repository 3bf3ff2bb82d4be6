import type pg from 'pg';
import { z } from 'zod';
import type { Database } from '../../platform/db/database.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import {
  draftParams,
  draftReadOnlyFields,
  draftSchema,
  draftSummarySchema,
  listDraftsQuery,
  putDraftBody,
} from './schema.ts';
import { deleteDraft, type DraftForms, getDraft, listDrafts, putDraft } from './service.ts';

export interface DraftRouteDeps {
  database: Database;
  /** How the drafts of some kinds are stored. */
  draftForms: DraftForms;
}

const PATH = '/v1/my/drafts';
const tag = 'Drafts';

function listRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: PATH,
    operationId: 'listDrafts',
    tag,
    summary: 'List drafts, newest first',
    description: 'Without their contents.',
    auth: 'brand',
    testKeys: 'refused',
    query: listDraftsQuery,
    paginated: true,
    responses: { 200: { description: 'A page of drafts.', schema: z.array(draftSummarySchema) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { drafts, count } = await listDrafts(pool, input.tenant, input.query.kind, page);
      return paginate(input, page, drafts, count);
    },
  });
}

function getRoute(pool: pg.Pool, forms: DraftForms): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/:kind/:resource_id`,
    operationId: 'getDraft',
    tag,
    summary: 'Get the draft of a resource',
    description: 'Null if it has none.',
    auth: 'brand',
    testKeys: 'refused',
    etag: 'shown',
    params: draftParams,
    responses: { 200: { description: 'The draft, or null', schema: draftSchema.nullable() } },
    async handler({ tenant, params: { kind, resource_id: id } }) {
      return { status: 200, body: await getDraft(pool, tenant, { kind, id }, forms) };
    },
  });
}

function putRoute(pool: pg.Pool, forms: DraftForms): RouteDefinition {
  return defineRoute({
    method: 'PUT',
    path: `${PATH}/:kind/:resource_id`,
    operationId: 'putDraft',
    tag,
    summary: 'Save the draft of a resource',
    description:
      'Replaces the draft that `If-Match` names. Without `If-Match`, it must be the first one: if the resource has a ' +
      'draft already, the response is a 412. What is live does not change.',
    auth: 'brand',
    audit: 'too many',
    testKeys: 'refused',
    // Editors save drafts by themselves: they would take what an assistant saved for the user's own typing.
    assistants: 'never',
    etag: 'checked',
    mayCreate: true,
    params: draftParams,
    body: putDraftBody,
    readOnlyFields: draftReadOnlyFields,
    responses: { 200: { description: 'The saved draft.', schema: draftSchema } },
    async handler({ tenant, params: { kind, resource_id: id }, body, ifMatch }) {
      const draft = await inTransaction(pool, (trx) =>
        putDraft(trx, tenant, { kind, id }, { body, ifMatch, forms }),
      );
      return { status: 200, body: draft };
    },
  });
}

function deleteRoute(pool: pg.Pool, forms: DraftForms): RouteDefinition {
  return defineRoute({
    method: 'DELETE',
    path: `${PATH}/:kind/:resource_id`,
    operationId: 'deleteDraft',
    tag,
    summary: 'Delete the draft of a resource',
    description: 'Discards the changes. After they were published, the draft is deleted, too.',
    auth: 'brand',
    audit: 'too many',
    testKeys: 'refused',
    // Editors save drafts by themselves: they would take what an assistant saved for the user's own typing.
    assistants: 'never',
    etag: 'checked',
    params: draftParams,
    responses: { 200: { description: 'The deleted draft.', schema: draftSchema } },
    async handler({ tenant, params: { kind, resource_id: id }, ifMatch }) {
      const draft = await inTransaction(pool, (trx) =>
        deleteDraft(trx, tenant, { kind, id }, { ifMatch, forms }),
      );
      return { status: 200, body: draft };
    },
  });
}

/** `/v1/my/drafts`: changes of templates, campaigns, flows and segments that are not published yet. */
export function createDraftRoutes({
  database: { pool },
  draftForms: forms,
}: DraftRouteDeps): RouteDefinition[] {
  return [listRoute(pool), getRoute(pool, forms), putRoute(pool, forms), deleteRoute(pool, forms)];
}
