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
      summary: 'Show the path that a contact would take',
      description:
        'Follows the present steps of the flow, also of a draft, with the contact as it is now. Waits are jumped over, and ' +
        'nothing is written or sent. Events from outside, answers of webhooks, opens and clicks are those of `answers`; ' +
        'without an answer no event arrives, webhooks answer 200, and nothing is opened.',
      auth: 'brand',
      testKeys: 'allowed',
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
