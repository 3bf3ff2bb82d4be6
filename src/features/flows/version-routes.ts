import { z } from 'zod';
import { pageOf } from '../../platform/db/paging.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import type { HeavyReads } from '../../platform/processes/heavy-reads.ts';
import { flowParams } from './schema.ts';
import {
  flowVersionSchema,
  flowVersionSummary,
  getVersion,
  listVersions,
  listVersionsQuery,
  versionParams,
} from './shown-versions.ts';

const PATH = '/v1/my/flows/:id/versions';
const tag = 'Flows';

/** `/v1/my/flows/{id}/versions`. */
export function createVersionRoutes({ heavyReads }: { heavyReads: HeavyReads }): RouteDefinition[] {
  return [
    defineRoute({
      method: 'GET',
      path: PATH,
      operationId: 'listFlowVersions',
      tag,
      summary: 'List the versions of a flow, newest first',
      description:
        'An activation makes a version, and so does each change of the steps, the goal or the trigger of an active or ' +
        'paused flow. Besides the newest ten, only versions that runs follow or that wait for approval are kept.',
      auth: 'brand',
      testKeys: 'refused',
      params: flowParams,
      query: listVersionsQuery,
      paginated: true,
      responses: { 200: { description: 'A page of versions.', schema: z.array(flowVersionSummary) } },
      errors: ['rate_limited', 'unavailable'],
      async handler(input) {
        const page = pageOf(input.query);
        const { versions, count } = await listVersions(heavyReads, input.tenant, input.params.id, page);
        return paginate(input, page, versions, count);
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${PATH}/:number`,
      operationId: 'getFlowVersion',
      tag,
      summary: 'Get a version of a flow with its steps',
      auth: 'brand',
      testKeys: 'refused',
      params: versionParams,
      responses: { 200: { description: 'The version.', schema: flowVersionSchema } },
      errors: ['rate_limited', 'unavailable'],
      async handler({ tenant, params: { id, number } }) {
        return { status: 200, body: await getVersion(heavyReads, tenant, id, number) };
      },
    }),
  ];
}
