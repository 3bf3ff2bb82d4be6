import { z } from 'zod';
import type { Waker } from '../../../platform/db/wake.ts';
import { pageOf, wholeList } from '../../../platform/db/paging.ts';
import { paginate } from '../../../platform/http/pagination.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../../platform/http/route.ts';
import { webhookParams, webhookRoles as roles } from '../schema.ts';
import {
  deliveryDetail,
  deliveryParams,
  deliveryResource,
  listDeliveriesQuery,
  testWebhookBody,
} from './schema.ts';
import type { WebhookDeliveries } from './service.ts';

export interface WebhookDeliveryRouteDeps {
  deliveries: WebhookDeliveries;
  waker: Pick<Waker, 'wake'>;
}

const tag = 'Webhooks';
const path = '/v1/my/webhooks/:id';

function testRoute({ deliveries, waker }: WebhookDeliveryRouteDeps): RouteDefinition {
  return defineIdempotentRoute({
    path: `${path}/test`,
    operationId: 'testWebhook',
    tag,
    summary: 'Send a webhook a sample event',
    description:
      'Signed, sent and retried as any other event, with `test: true` and null ids in its `data`. The answer does not ' +
      'wait for it: `GET /webhooks/{id}/deliveries/{delivery_id}` tells what became of it.',
    auth: 'brand',
    roles,
    params: webhookParams,
    body: testWebhookBody,
    bodyOptional: true,
    errors: ['conflict'],
    responses: { 200: { description: 'The delivery, still to be made', schema: deliveryResource } },
    async handler({ tenant, params, body }, trx) {
      const delivery = await deliveries.sendTest(trx, tenant, params.id, body.type);
      const afterCommit = () => waker.wake('webhook');
      return { status: 200, body: delivery, resourceId: delivery.id, afterCommit };
    },
    load: async ({ tenant, params }, id) => {
      const { attempts: _attempts, ...delivery } = await deliveries.get(tenant, params.id, id);
      return delivery;
    },
  });
}

function retryRoute({ deliveries, waker }: WebhookDeliveryRouteDeps): RouteDefinition {
  return defineIdempotentRoute({
    path: `${path}/deliveries/:delivery_id/retry`,
    operationId: 'retryWebhookDelivery',
    tag,
    summary: 'Attempt a delivery again, now',
    description:
      'Whatever became of it: one that waits for a retry is attempted at once, one that failed or was delivered once ' +
      'more. The attempt is counted with those before, so what follows if it fails is as the schedule says; after the last ' +
      'step that is nothing. One whose first attempt is still to be made stays as it is. At most 100 attempts.',
    auth: 'brand',
    roles,
    params: deliveryParams,
    errors: ['conflict'],
    responses: { 200: { description: 'The delivery, due now', schema: deliveryResource } },
    async handler({ tenant, params }, trx) {
      const delivery = await deliveries.retry(trx, tenant, params.id, params.delivery_id);
      const afterCommit = () => waker.wake('outbox');
      return { status: 200, body: delivery, resourceId: delivery.id, afterCommit };
    },
    load: async ({ tenant, params }, id) => {
      const { attempts: _attempts, ...delivery } = await deliveries.get(tenant, params.id, id);
      return delivery;
    },
  });
}

/** What hangs below one webhook: POST …/test, GET …/deliveries, one of them, and its POST …/retry. */
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
      summary: 'One delivery, with its attempts',
      auth: 'brand',
      roles,
      params: deliveryParams,
      responses: { 200: { description: 'The delivery', schema: deliveryDetail } },
      async handler({ tenant, params }) {
        return { status: 200, body: await deliveries.get(tenant, params.id, params.delivery_id) };
      },
    }),
    retryRoute(deps),
  ];
}
