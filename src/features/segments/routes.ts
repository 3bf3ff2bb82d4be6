import type pg from 'pg';
import { z } from 'zod';
import type { Database } from '../../platform/db/database.ts';
import type { HeavyReads } from '../../platform/processes/heavy-reads.ts';
import { pageOf, wholeList } from '../../platform/db/paging.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { contactResource } from '../contacts/schema.ts';
import { changeSegment, createSegment, deleteSegment, getSegment, listSegments } from './manage.ts';
import { findFilterNames } from './names.ts';
import { listMembers, previewFilters } from './reads.ts';
import {
  changeSegmentBody,
  createSegmentBody,
  filterNamesSchema,
  listMembersQuery,
  listSegmentsQuery,
  previewBody,
  previewSchema,
  segmentParams,
  segmentReadOnlyFields as readOnlyFields,
  segmentSchema,
} from './schema.ts';

export interface SegmentRouteDeps {
  database: Database;
  heavyReads: HeavyReads;
}

const PATH = '/v1/my/segments';
const tag = 'Segments';

const REFERENCES =
  'The filters may name only lists and segments of the brand, and no segment may lead back to itself.';

function listRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: PATH,
    operationId: 'listSegments',
    tag,
    summary: 'List segments, newest first',
    auth: 'brand',
    testKeys: 'allowed',
    query: listSegmentsQuery,
    paginated: true,
    responses: { 200: { description: 'All segments of the brand.', schema: z.array(segmentSchema) } },
    async handler(input) {
      const page = pageOf(input.query, wholeList);
      const { segments, count } = await listSegments(pool, input.tenant, page);
      return paginate(input, page, segments, count);
    },
  });
}

function createRoute(pool: pg.Pool): RouteDefinition {
  return defineIdempotentRoute({
    path: PATH,
    operationId: 'createSegment',
    tag,
    summary: 'Create a segment',
    description: REFERENCES,
    auth: 'brand',
    testKeys: 'allowed',
    etag: 'shown',
    body: createSegmentBody,
    readOnlyFields,
    responses: { 201: { description: 'The segment.', schema: segmentSchema } },
    async handler({ tenant, body }, trx) {
      const segment = await createSegment(trx, tenant, body);
      return { status: 201, body: segment, resourceId: segment.id };
    },
    load: ({ tenant }, id) => getSegment(pool, tenant, id),
  });
}

function getRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/:id`,
    operationId: 'getSegment',
    tag,
    summary: 'Get a segment',
    auth: 'brand',
    testKeys: 'allowed',
    etag: 'shown',
    params: segmentParams,
    responses: { 200: { description: 'The segment.', schema: segmentSchema } },
    async handler({ tenant, params }) {
      return { status: 200, body: await getSegment(pool, tenant, params.id) };
    },
  });
}

function changeRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'PATCH',
    path: `${PATH}/:id`,
    operationId: 'changeSegment',
    tag,
    summary: 'Change a segment',
    description: `An omitted field stays unchanged; \`filters\` are replaced as a whole. ${REFERENCES}`,
    auth: 'brand',
    testKeys: { only: 'segments that no active or paused flow and no scheduled campaign uses' },
    assistants: { sends: 'if in use' },
    etag: 'checked',
    params: segmentParams,
    body: changeSegmentBody,
    readOnlyFields,
    responses: { 200: { description: 'The changed segment.', schema: segmentSchema } },
    async handler({ tenant, params, body, ifMatch }) {
      const segment = await inTransaction(pool, (trx) =>
        changeSegment(trx, tenant, params.id, body, ifMatch),
      );
      return { status: 200, body: segment };
    },
  });
}

function deleteRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'DELETE',
    path: `${PATH}/:id`,
    operationId: 'deleteSegment',
    tag,
    summary: 'Delete a segment',
    description:
      'A segment cannot be deleted while another segment, an active or paused flow, or a campaign whose recipients are ' +
      'not all written uses it.',
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    etag: 'checked',
    params: segmentParams,
    responses: { 200: { description: 'The deleted segment.', schema: segmentSchema } },
    errors: ['conflict'],
    async handler({ tenant, params, ifMatch }) {
      const segment = await inTransaction(pool, (trx) => deleteSegment(trx, tenant, params.id, ifMatch));
      return { status: 200, body: segment };
    },
  });
}

function previewRoute(reads: HeavyReads): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: `${PATH}/preview`,
    operationId: 'previewSegment',
    tag,
    summary: 'Count the contacts that filters select, and explain one',
    description:
      'Stores nothing. With `contact_id`, the response also says which of the filters this contact matches. A count ' +
      'that takes more than five seconds is null, and `slow_because` names the filter that takes the most time. An ' +
      'account has two previews at once; others wait for up to ten seconds, then they get a 429.',
    auth: 'brand',
    audit: 'none',
    // Counts under enough filters spell out what a contact has.
    testKeys: 'refused',
    idempotency: 'none',
    body: previewBody,
    responses: { 200: { description: 'The count and some of the contacts.', schema: previewSchema } },
    async handler({ tenant, body }) {
      return { status: 200, body: await previewFilters(reads, tenant, body) };
    },
  });
}

function namesRoute(reads: HeavyReads): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/names`,
    operationId: 'listFilterNames',
    tag,
    summary: 'List the keys of data and the events that filters can name',
    auth: 'brand',
    testKeys: 'refused',
    responses: { 200: { description: 'The names that the brand has.', schema: filterNamesSchema } },
    async handler({ tenant }) {
      return { status: 200, body: await findFilterNames(reads, tenant) };
    },
  });
}

function membersRoute(reads: HeavyReads): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/:id/contacts`,
    operationId: 'listSegmentContacts',
    tag,
    summary: 'List the contacts of a segment, newest first',
    description: 'The filters are evaluated for each page. Follow the `next` links to read all contacts.',
    auth: 'brand',
    testKeys: 'refused',
    params: segmentParams,
    query: listMembersQuery,
    paginated: true,
    responses: { 200: { description: 'A page of contacts.', schema: z.array(contactResource) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { contacts, count } = await listMembers(reads, input.tenant, input.params.id, page);
      return paginate(input, page, contacts, count);
    },
  });
}

/** `/v1/my/segments`, their preview and their contacts. */
export function createSegmentRoutes({ database: { pool }, heavyReads }: SegmentRouteDeps): RouteDefinition[] {
  return [
    listRoute(pool),
    createRoute(pool),
    previewRoute(heavyReads),
    namesRoute(heavyReads),
    getRoute(pool),
    changeRoute(pool),
    deleteRoute(pool),
    membersRoute(heavyReads),
  ];
}
