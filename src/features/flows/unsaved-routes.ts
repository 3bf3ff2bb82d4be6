import { z } from 'zod';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import type { HeavyReads } from '../../platform/processes/heavy-reads.ts';
import { checkedProblems } from '../templates/schema.ts';
import { checkUnsaved } from './check-unsaved.ts';
import type { CheckDeps } from './checks.ts';
import { simulateUnsavedBody, simulationSchema } from './simulate/schema.ts';
import { simulateUnsaved } from './simulate/simulate.ts';
import { unsavedBody } from './unsaved.ts';

const tag = 'Flows';

const checkSchema = z.object({ problems: checkedProblems }).meta({ id: 'FlowCheck' });

function checkRoute(deps: CheckDeps): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: '/v1/my/flows/check',
    operationId: 'checkUnsavedFlow',
    tag,
    summary: 'Check a flow that is not saved',
    description:
      'Lists everything for which an activation would refuse the flow: a new one, or a saved one with the changes in the ' +
      'request. Steps and filters of a wrong shape are a 422, as they are when the flow is saved. Nothing is stored.',
    auth: 'brand',
    audit: 'none',
    testKeys: { only: 'new flows and drafts' },
    idempotency: 'none',
    body: unsavedBody,
    responses: {
      200: { description: 'The problems; none if the flow can be activated.', schema: checkSchema },
    },
    errors: ['forbidden', 'unavailable'],
    handler: async ({ tenant, body }) => ({ status: 200, body: await checkUnsaved(deps, tenant, body) }),
  });
}

function simulateRoute(reads: HeavyReads, { keyring }: CheckDeps): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: '/v1/my/flows/simulate',
    operationId: 'simulateUnsavedFlow',
    tag,
    summary: 'Simulate the path of a contact through a flow that is not saved',
    description:
      'As `POST /flows/{id}/simulate`, for a new flow, or a saved one with the changes in the request. New steps have the ' +
      'ids that they would get. Nothing is stored or sent.',
    auth: 'brand',
    audit: 'none',
    // The path says which conditions a contact meets.
    testKeys: 'refused',
    idempotency: 'none',
    body: simulateUnsavedBody,
    responses: { 200: { description: 'The path, and how it ends.', schema: simulationSchema } },
    handler: async ({ tenant, body }) => ({
      status: 200,
      body: await simulateUnsaved({ reads, keyring }, tenant, body),
    }),
  });
}

/** `POST /v1/my/flows/check` and `/simulate`, for editors. */
export function createUnsavedRoutes(deps: CheckDeps, heavyReads: HeavyReads): RouteDefinition[] {
  return [checkRoute(deps), simulateRoute(heavyReads, deps)];
}
