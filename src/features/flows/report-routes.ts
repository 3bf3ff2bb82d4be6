import { z } from 'zod';
import { notFound } from '../../errors.ts';
import { idParam } from '../../platform/db/paging.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { findFlow } from './model.ts';
import { flowReportQuery, flowReportSchema, reportFlow } from './report.ts';
import type { FlowDeps } from './routes.ts';

/** `GET /v1/my/flows/:id/report`. */
export function createReportRoutes({
  database: { pool },
  heavyReads,
}: Pick<FlowDeps, 'database' | 'heavyReads'>): RouteDefinition[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/my/flows/:id/report',
      operationId: 'getFlowReport',
      tag: 'Flows',
      summary: 'Get the report of a flow',
      description:
        'Entries, ended runs, and the outcomes of the messages of each step. Runs and messages of test events are not ' +
        'counted.',
      auth: 'brand',
      testKeys: 'refused',
      params: z.strictObject({ id: idParam }),
      query: flowReportQuery,
      responses: { 200: { description: 'The report.', schema: flowReportSchema } },
      errors: ['rate_limited', 'unavailable'],
      async handler({ tenant, params, query }) {
        const row = await findFlow(pool, tenant, params.id);
        if (!row) throw notFound('flow');
        return { status: 200, body: await reportFlow(heavyReads, row, query) };
      },
    }),
  ];
}
