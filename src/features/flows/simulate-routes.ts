import type { HeavyReads } from '../../platform/processes/heavy-reads.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { simulateBody, simulateParams, simulationSchema } from './simulate/schema.ts';
import { simulateFlow } from './simulate/simulate.ts';

/** `POST /v1/my/flows/{id}/simulate`. */
export function createSimulateRoutes({ heavyReads }: { heavyReads: HeavyReads }): RouteDefinition[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/my/flows/:id/simulate',
      operationId: 'simulateFlow',
      tag: 'Flows',
      summary: 'Simulate the path of a contact',
      description:
        'Follows the current steps of the flow, which may be a draft, with the contact as it is now. Waits are skipped, ' +
        'and nothing is stored or sent. External events, webhook responses, opens and clicks are taken from `answers`; ' +
        'otherwise no event arrives, webhooks respond with 200, and no message is opened.',
      auth: 'brand',
      audit: 'none',
      // The path says which conditions a contact meets.
      testKeys: 'refused',
      idempotency: 'none',
      params: simulateParams,
      body: simulateBody,
      responses: { 200: { description: 'The path, and how it ends.', schema: simulationSchema } },
      async handler({ tenant, params, body }) {
        return { status: 200, body: await simulateFlow(heavyReads, tenant, params.id, body) };
      },
    }),
  ];
}
