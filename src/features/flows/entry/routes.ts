import { z } from 'zod';
import type { Database } from '../../../platform/db/database.ts';
import { idParam, MAX_ID } from '../../../platform/db/paging.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import { defineIdempotentRoute, type RouteDefinition } from '../../../platform/http/route.ts';
import { enterFlow, type EnterResult, enterResults } from './enter.ts';
import { ENTRIES_CHANNEL } from './entries.ts';

/** Maximum number of contacts per request. */
const MAX_CONTACTS = 1_000;

const enterBody = z.strictObject({
  contact_ids: z
    .array(z.int().min(1).max(MAX_ID))
    .max(MAX_CONTACTS)
    .default([])
    .meta({ description: 'At least one id. A contact that is named twice enters once.' }),
});

const enteredSchema = z.object({
  results: z.array(
    z.object({
      contact_id: z.int(),
      status: z.enum(['accepted', 'not_found']).meta({
        description:
          '`accepted`: the contact enters soon, unless the filters of the flow or its `reentry` rule ' +
          'prevent it, which `GET /flows/{id}/report` counts.',
      }),
    }),
  ),
});

export interface EntryRouteDeps {
  database: Database;
  waker: Waker;
}

/** `POST /flows/{id}/enter`. */
export function createEntryRoutes({ database: { pool }, waker }: EntryRouteDeps): RouteDefinition[] {
  const present = (results: EnterResult[]) => ({ results });
  const enter = defineIdempotentRoute({
    path: '/v1/my/flows/:id/enter',
    operationId: 'enterFlow',
    tag: 'Flows',
    summary: 'Let contacts enter a flow',
    description: 'The flow must be active and, if required, approved. A test key starts test runs.',
    auth: 'brand',
    testKeys: 'allowed',
    assistants: { sends: 'always', asks: ({ contact_ids: ids }) => !Array.isArray(ids) || ids.length > 1 },
    params: z.strictObject({ id: idParam }),
    body: enterBody,
    responses: { 200: { description: 'The result for each contact.', schema: enteredSchema } },
    errors: ['invalid_transition'],
    async handler({ tenant, params, body }, trx) {
      const { requestId, results } = await enterFlow(trx, tenant, params.id, body.contact_ids);
      const afterCommit = () => waker.wake(ENTRIES_CHANNEL);
      // The request creates no resource: its idempotency key stores its number, and a replay looks up the contacts
      // again.
      return { status: 200, body: present(results), resourceId: requestId, afterCommit };
    },
    load: async ({ tenant, body }) => present(await enterResults(pool, tenant, body.contact_ids)),
  });
  return [enter];
}
