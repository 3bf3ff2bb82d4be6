import type { Logger } from 'pino';
import { z } from 'zod';
import { requireConfirmed } from '../../platform/auth/session.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { Egress } from '../../platform/egress/client.ts';
import { pageOf, wholeList, wholeListQuery } from '../../platform/db/paging.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { createWebhookDeliveryRoutes } from './deliveries/routes.ts';
import { createWebhookDeliveries } from './deliveries/service.ts';
import {
  changeReadOnlyFields,
  changeWebhookBody,
  createReadOnlyFields,
  createWebhookBody,
  getWebhookQuery,
  webhookParams,
  webhookResource,
  webhookRoles as roles,
} from './schema.ts';
import { createWebhookManager, type WebhookManager } from './service.ts';

export interface WebhookRouteDeps {
  database: Database;
  keyring: Keyring;
  egress: Pick<Egress, 'checkUrl'>;
  waker: Waker;
  log: Logger;
}

const tag = 'Webhooks';
const path = '/v1/my/webhooks';

function createRoute(webhooks: WebhookManager): RouteDefinition {
  return defineIdempotentRoute({
    path,
    operationId: 'createWebhook',
    tag,
    summary: 'Create a webhook',
    description:
      'A brand has at most 10 webhooks. The response contains the whole secret; later ones do only with `reveal=true`. ' +
      '`url` is an HTTPS URL without credentials that leads to a public internet address.',
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    roles,
    confirm: true,
    body: createWebhookBody,
    readOnlyFields: createReadOnlyFields,
    responses: { 201: { description: 'The webhook with its whole secret', schema: webhookResource } },
    // The name in the URL is resolved.
    prepare: ({ body }) => webhooks.requireAllowedUrl(body.url),
    async handler({ tenant, body }, trx) {
      const webhook = await webhooks.create(trx, tenant, body);
      return { status: 201, body: webhook, resourceId: webhook.id };
    },
    load: ({ tenant }, id) => webhooks.get(tenant, id, true),
  });
}

function changeRoute(webhooks: WebhookManager): RouteDefinition {
  return defineRoute({
    method: 'PATCH',
    path: `${path}/:id`,
    operationId: 'changeWebhook',
    tag,
    summary: 'Change a webhook, or turn it on or off',
    description:
      'An omitted field stays unchanged. A new `url` also receives waiting retries, and `failing_since` is reset. ' +
      'New `events` apply to events that occur from now on. For a new `url`, a user must have given the password within the ' +
      'last 15 minutes: see `confirmSession`.',
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    roles,
    assistants: { without: ['url'] },
    params: webhookParams,
    body: changeWebhookBody,
    readOnlyFields: changeReadOnlyFields,
    responses: { 200: { description: 'The changed webhook', schema: webhookResource } },
    errors: ['confirmation_required'],
    async handler({ tenant, session, params, body }) {
      if (body.url !== undefined) requireConfirmed(session);
      return { status: 200, body: await webhooks.change(tenant, params.id, body) };
    },
  });
}

function rotateRoute(webhooks: WebhookManager): RouteDefinition {
  return defineIdempotentRoute({
    path: `${path}/:id/rotate_secret`,
    operationId: 'rotateWebhookSecret',
    tag,
    summary: 'Give a webhook a new secret',
    description:
      'For 24 hours, requests are signed with both secrets, so that a receiver with either one accepts them. A second ' +
      'rotation within that time ends the oldest secret at once. Send an `Idempotency-Key`, so that a repeated request ' +
      'does not rotate again.',
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    roles,
    confirm: true,
    params: webhookParams,
    responses: { 200: { description: 'The webhook with its whole new secret', schema: webhookResource } },
    async handler({ tenant, params }, trx) {
      const webhook = await webhooks.rotateSecret(trx, tenant, params.id);
      return { status: 200, body: webhook, resourceId: webhook.id };
    },
    load: ({ tenant }, id) => webhooks.get(tenant, id, true),
  });
}

function getRoute(webhooks: WebhookManager): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${path}/:id`,
    operationId: 'getWebhook',
    tag,
    summary: 'Get a webhook',
    description:
      'For `reveal=true`, a user must have given the password within the last 15 minutes: see `confirmSession`.',
    auth: 'brand',
    testKeys: 'refused',
    roles,
    assistants: { without: ['reveal'] },
    params: webhookParams,
    query: getWebhookQuery,
    errors: ['conflict', 'confirmation_required'],
    responses: { 200: { description: 'The webhook', schema: webhookResource } },
    async handler({ tenant, session, params, query }) {
      if (query.reveal) requireConfirmed(session);
      return { status: 200, body: await webhooks.get(tenant, params.id, query.reveal ?? false) };
    },
  });
}

/** POST, GET, PATCH and DELETE of /v1/my/webhooks, and POST …/rotate_secret. */
function endpointRoutes(webhooks: WebhookManager): RouteDefinition[] {
  return [
    createRoute(webhooks),
    changeRoute(webhooks),
    rotateRoute(webhooks),
    defineRoute({
      method: 'GET',
      path,
      operationId: 'listWebhooks',
      tag,
      summary: 'List webhooks, newest first',
      auth: 'brand',
      testKeys: 'refused',
      roles,
      query: z.strictObject(wholeListQuery),
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
    getRoute(webhooks),
    defineRoute({
      method: 'DELETE',
      path: `${path}/:id`,
      operationId: 'deleteWebhook',
      tag,
      summary: 'Remove a webhook and its delivery history',
      auth: 'brand',
      audit: 'keys too',
      testKeys: 'refused',
      roles,
      params: webhookParams,
      responses: { 200: { description: 'The removed webhook', schema: webhookResource } },
      async handler({ tenant, params }) {
        return { status: 200, body: await webhooks.remove(tenant, params.id) };
      },
    }),
  ];
}

/** Webhook endpoints, and the history of their deliveries. */
export function createWebhookRoutes(deps: WebhookRouteDeps): RouteDefinition[] {
  const { database, keyring, egress, waker, log } = deps;
  const { pool } = database;
  const webhooks = createWebhookManager({ pool, keyring, egress, waker, log });
  const deliveries = createWebhookDeliveries({ pool });
  return [...endpointRoutes(webhooks), ...createWebhookDeliveryRoutes({ deliveries, waker })];
}
