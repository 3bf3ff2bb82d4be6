import { z } from 'zod';
import type { Database } from '../../platform/db/database.ts';
import type { HeavyReads } from '../../platform/processes/heavy-reads.ts';
import { pageOf } from '../../platform/db/paging.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { findFlow } from './model.ts';
import { notFound } from '../../errors.ts';
import { flowWebhookSecret } from './steps/webhook-request.ts';
import { listRunsQuery, runParams, runSchema, runSummary } from './runs-schema.ts';
import { cancelRun, getRun, listRuns } from './runs.ts';

export interface RunRouteDeps {
  database: Pick<Database, 'pool'>;
  heavyReads: HeavyReads;
  keyring: Pick<Keyring, 'subkey'>;
  waker: Pick<Waker, 'wake'>;
}

const tag = 'Flows';

function listRoute({ heavyReads }: RunRouteDeps): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: '/v1/my/flows/:id/runs',
    operationId: 'listFlowRuns',
    tag,
    summary: 'List the runs of a flow, newest first',
    description: 'A run is one passage of one contact through the flow.',
    auth: 'brand',
    testKeys: 'refused',
    params: runParams,
    query: listRunsQuery,
    paginated: true,
    responses: { 200: { description: 'A page of runs.', schema: z.array(runSummary) } },
    errors: ['unavailable'],
    async handler(input) {
      const page = pageOf(input.query);
      const { accountId } = input.tenant;
      const { runs, count } = await heavyReads.run({ accountId, what: 'lists of runs' }, (client) =>
        listRuns(client, input.tenant, input.params.id, input.query, page),
      );
      return paginate(input, page, runs, count);
    },
  });
}

function getRoute({ database: { pool } }: RunRouteDeps): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: '/v1/my/flow_runs/:id',
    operationId: 'getFlowRun',
    tag,
    summary: 'Get a run with its path',
    description:
      'The paths of runs that ended more than 400 days ago are cleared, unless the operator keeps them longer.',
    auth: 'brand',
    testKeys: 'refused',
    params: runParams,
    responses: { 200: { description: 'The run.', schema: runSchema } },
    async handler({ tenant, params }) {
      return { status: 200, body: await getRun(pool, tenant, params.id) };
    },
  });
}

function cancelRoute({ database: { pool }, waker }: RunRouteDeps): RouteDefinition {
  return defineIdempotentRoute({
    path: '/v1/my/flow_runs/:id/cancel',
    operationId: 'cancelFlowRun',
    tag,
    summary: 'Cancel a run',
    description: 'The run takes no further steps. Messages of it that are already queued are still sent.',
    auth: 'brand',
    testKeys: 'refused',
    params: runParams,
    responses: { 200: { description: 'The run.', schema: runSchema } },
    errors: ['invalid_transition'],
    async handler({ tenant, params }, trx) {
      const body = await cancelRun(trx, tenant, params.id);
      return { status: 200, body, resourceId: body.id, afterCommit: () => waker.wake('outbox') };
    },
    load: ({ tenant }, id) => getRun(pool, tenant, id),
  });
}

const secretSchema = z.object({
  secret: z.string().meta({ description: '`whsec_` and a key in base64, as for webhooks.' }),
});

function secretRoute({ database: { pool }, keyring }: RunRouteDeps): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: '/v1/my/flows/:id/webhook_secret',
    operationId: 'getFlowWebhookSecret',
    tag,
    summary: 'Get the secret that signs the webhook steps of a flow',
    description: 'The requests of webhook steps are signed like webhooks. Each flow has its own secret.',
    auth: 'brand',
    testKeys: 'refused',
    roles: ['owner', 'admin'],
    confirm: true,
    params: runParams,
    responses: { 200: { description: 'The secret.', schema: secretSchema } },
    async handler({ tenant, params }) {
      const flow = await findFlow(pool, tenant, params.id);
      if (!flow) throw notFound('flow');
      const secret = flowWebhookSecret(keyring, { accountId: flow.account_id, flowId: flow.id });
      return { status: 200, body: { secret } };
    },
  });
}

/** `/v1/my/flows/{id}/runs` and `/v1/my/flow_runs`. */
export function createRunRoutes(deps: RunRouteDeps): RouteDefinition[] {
  return [listRoute(deps), getRoute(deps), cancelRoute(deps), secretRoute(deps)];
}
