import { z } from 'zod';
import type { Waker } from '../../../platform/db/wake.ts';
import { pageOf, wholeList } from '../../../platform/db/paging.ts';
import { paginate } from '../../../platform/http/pagination.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../../platform/http/route.ts';
import { webhookParams, webhookRoles as roles } from '../schema.ts';
import {
  deliveryDetail,
  type DeliveryDetail,
  deliveryParams,
  deliveryResource,
  listDeliveriesQuery,
  MAX_RETRIED,
  retryDeliveriesBody,
  retryResult,
  testWebhookBody,
} from './schema.ts';
import type { WebhookDeliveries } from './service.ts';

export interface WebhookDeliveryRouteDeps {
  deliveries: WebhookDeliveries;
  waker: Pick<Waker, 'wake'>;
}

/** Whether the requests have mail of a stranger. @param item a delivery as clients see it */
const sendsReceivedMail = (item: unknown): boolean =>
  (item as Partial<DeliveryDetail> | null)?.type === 'email.received';

const tag = 'Webhooks';
const path = '/v1/my/webhooks/:id';

function testRoute({ deliveries, waker }: WebhookDeliveryRouteDeps): RouteDefinition {
  return defineIdempotentRoute({
    path: `${path}/test`,
    operationId: 'testWebhook',
    tag,
    summary: 'Send a webhook a sample event',
    description:
      'The event is signed, sent and retried like any other, with `test: true` and null ids in its `data`. The response ' +
      'does not wait for the attempt: see `GET /webhooks/{id}/deliveries/{delivery_id}` for its outcome.',
    auth: 'brand',
    testKeys: 'refused',
    roles,
    params: webhookParams,
    body: testWebhookBody,
    bodyOptional: true,
    errors: ['conflict'],
    responses: { 200: { description: 'The queued delivery', schema: deliveryResource } },
    async handler({ tenant, params, body }, trx) {
      const delivery = await deliveries.sendTest(trx, tenant, params.id, body.type);
      const afterCommit = () => waker.wake('webhook');
      return { status: 200, body: delivery, resourceId: delivery.id, afterCommit };
    },
    load: async ({ tenant, params }, id) => {
      const {
        attempts: _attempts,
        request_body: _body,
        ...delivery
      } = await deliveries.get(tenant, params.id, id);
      return delivery;
    },
  });
}

function retryRoute({ deliveries, waker }: WebhookDeliveryRouteDeps): RouteDefinition {
  return defineIdempotentRoute({
    path: `${path}/deliveries/:delivery_id/retry`,
    operationId: 'retryWebhookDelivery',
    tag,
    summary: 'Retry a delivery now',
    description:
      'A delivery that waits for a retry is attempted at once; one that failed or was delivered is attempted once more. ' +
      'The attempt counts like those before: if it fails, the retry schedule continues at its number, and after the last ' +
      'step the delivery fails. A delivery whose first attempt has not been made yet stays unchanged. A delivery has at ' +
      'most 100 attempts.',
    auth: 'brand',
    testKeys: 'refused',
    roles,
    params: deliveryParams,
    errors: ['conflict'],
    responses: { 200: { description: 'The delivery, which is now due', schema: deliveryResource } },
    async handler({ tenant, params }, trx) {
      const delivery = await deliveries.retry(trx, tenant, params.id, params.delivery_id);
      const afterCommit = () => waker.wake('outbox');
      return { status: 200, body: delivery, resourceId: delivery.id, afterCommit };
    },
    load: async ({ tenant, params }, id) => {
      const {
        attempts: _attempts,
        request_body: _body,
        ...delivery
      } = await deliveries.get(tenant, params.id, id);
      return delivery;
    },
  });
}

function retryAllRoute({ deliveries, waker }: WebhookDeliveryRouteDeps): RouteDefinition {
  const presentCount = (count: number) => ({ retried_count: count, complete: count < MAX_RETRIED });
  return defineIdempotentRoute({
    path: `${path}/retry_deliveries`,
    operationId: 'retryWebhookDeliveries',
    tag,
    summary: 'Retry all deliveries that failed since a time',
    description:
      'After an outage of the endpoint, makes failed deliveries due at once; with `status: "delivered"`, replays those that ' +
      'the endpoint has acknowledged. Each is attempted as by a retry of one delivery, with the same `webhook-id`.',
    auth: 'brand',
    testKeys: 'refused',
    roles,
    params: webhookParams,
    body: retryDeliveriesBody,
    errors: ['conflict'],
    responses: { 200: { description: 'How many deliveries are now due', schema: retryResult } },
    async handler({ tenant, params, body }, trx) {
      const count = await deliveries.retryAll(trx, tenant, params.id, body);
      const afterCommit = () => waker.wake('outbox');
      return { status: 200, body: presentCount(count), resourceId: count, afterCommit };
    },
    // The number is all that a replay shows, so it is kept in place of a resource.
    load: (_input, count) => Promise.resolve(presentCount(count)),
  });
}

/** Routes below one webhook: POST …/test, …/retry_deliveries, GET …/deliveries, and those of one delivery. */
export function createWebhookDeliveryRoutes(deps: WebhookDeliveryRouteDeps): RouteDefinition[] {
  const { deliveries } = deps;
  return [
    testRoute(deps),
    defineRoute({
      method: 'GET',
      path: `${path}/deliveries`,
      operationId: 'listWebhookDeliveries',
      tag,
      summary: 'List the deliveries of the last 7 days, newest first',
      auth: 'brand',
      testKeys: 'refused',
      roles,
      params: webhookParams,
      query: listDeliveriesQuery,
      paginated: true,
      responses: { 200: { description: 'A page of deliveries', schema: z.array(deliveryResource) } },
      async handler(input) {
        const { tenant, params, query } = input;
        const page = pageOf(query, wholeList);
        const { deliveries: rows, counted } = await deliveries.list(tenant, params.id, query, page);
        return paginate(input, page, rows, counted);
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${path}/deliveries/:delivery_id`,
      operationId: 'getWebhookDelivery',
      tag,
      summary: 'Get a delivery with its attempts',
      auth: 'brand',
      testKeys: 'refused',
      roles,
      assistants: { mail: sendsReceivedMail },
      params: deliveryParams,
      responses: { 200: { description: 'The delivery', schema: deliveryDetail } },
      async handler({ tenant, params }) {
        return { status: 200, body: await deliveries.get(tenant, params.id, params.delivery_id) };
      },
    }),
    retryRoute(deps),
    retryAllRoute(deps),
  ];
}
