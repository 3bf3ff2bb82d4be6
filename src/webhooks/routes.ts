import type pg from 'pg';
import { z } from 'zod';
import type { Role } from '../auth/tenant.ts';
import { requestFingerprint, withIdempotency } from '../http/idempotency.ts';
import { pageOf, pageQuery, paginate } from '../http/pagination.ts';
import { defineRoute, type RouteDefinition } from '../http/route.ts';
import {
  createWebhookBody,
  getWebhookQuery,
  webhookParams,
  webhookReadOnlyFields,
  webhookResource,
} from './schema.ts';
import type { WebhookManager } from './service.ts';

export interface WebhookRouteDeps {
  pool: pg.Pool;
  webhooks: WebhookManager;
}

const tag = 'Webhooks';
const path = '/v1/my/webhooks';
/** Who may manage API keys. */
const roles: Role[] = ['owner', 'admin'];
const wholeList = { limit: 1_000, max: 1_000 };

function createRoute({ pool, webhooks }: WebhookRouteDeps): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path,
    operationId: 'createWebhook',
    tag,
    summary: 'Create a webhook',
    description:
      'At most 10 a brand. The answer is the only one that shows the secret without being asked to.',
    auth: 'brand',
    roles,
    idempotency: 'own',
    body: createWebhookBody,
    readOnlyFields: webhookReadOnlyFields,
    responses: { 201: { description: 'The webhook with its whole secret', schema: webhookResource } },
    async handler(input) {
      const { tenant, body, idempotencyKey: key } = input;
      // Name servers are asked before the transaction begins; a replay does not depend on what they say.
      const requireGoodUrl = await webhooks.checkUrl(body.url);
      const identity = { brandId: tenant.brandId, endpoint: `POST ${path}` };
      const request = key === null ? null : { ...identity, key, fingerprint: requestFingerprint(input) };
      return withIdempotency(
        pool,
        request,
        async (trx) => {
          requireGoodUrl();
          const webhook = await webhooks.create(trx, tenant, body);
          return { status: 201, body: webhook, resourceId: webhook.id };
        },
        (id) => webhooks.get(tenant, id, true),
      );
    },
  });
}

/** POST, GET and DELETE of /v1/my/webhooks. */
export function createWebhookRoutes(deps: WebhookRouteDeps): RouteDefinition[] {
  const { webhooks } = deps;
  return [
    createRoute(deps),
    defineRoute({
      method: 'GET',
      path,
      operationId: 'listWebhooks',
      tag,
      summary: 'List webhooks, newest first',
      auth: 'brand',
      roles,
      query: z.strictObject(pageQuery),
      paginated: true,
      responses: { 200: { description: 'All webhooks of the brand', schema: z.array(webhookResource) } },
      async handler(input) {
        const page = pageOf(input.query, wholeList);
        const { after, offset, limit } = page;
        const all = await webhooks.list(input.tenant);
        const rest = after === null ? all : all.filter((webhook) => webhook.id < after);
        return paginate(input, page, rest.slice(offset, offset + limit), { total: all.length });
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${path}/:id`,
      operationId: 'getWebhook',
      tag,
      summary: 'One webhook',
      auth: 'brand',
      roles,
      params: webhookParams,
      query: getWebhookQuery,
      responses: { 200: { description: 'The webhook', schema: webhookResource } },
      async handler({ tenant, params, query }) {
        return { status: 200, body: await webhooks.get(tenant, params.id, query.reveal ?? false) };
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: `${path}/:id`,
      operationId: 'deleteWebhook',
      tag,
      summary: 'Remove a webhook and its delivery history',
      auth: 'brand',
      roles,
      params: webhookParams,
      responses: { 200: { description: 'The webhook that was removed', schema: webhookResource } },
      async handler({ tenant, params }) {
        return { status: 200, body: await webhooks.remove(tenant, params.id) };
      },
    }),
  ];
}
