import { z } from 'zod';
import { wholeListQuery } from '../../../platform/db/paging.ts';
import { eventTypes } from '../catalogue.ts';
import { idParam } from '../schema.ts';

const statuses = ['pending', 'retrying', 'delivered', 'failed'] as const;
const when = z.iso.datetime();
const type = z.enum(eventTypes);

export const deliveryParams = z.strictObject({ id: idParam, delivery_id: idParam });

/** Filters of GET /webhooks/{id}/deliveries. */
export const listDeliveriesQuery = z.strictObject({
  ...wholeListQuery,
  status: z.enum(statuses).optional(),
  type: type.optional(),
});

/** POST /webhooks/{id}/test. */
export const testWebhookBody = z.strictObject({
  type: type.default('email.delivered').meta({ description: 'Also one that it is not subscribed to.' }),
});

/** An event on its way to one webhook. */
export const deliveryResource = z
  .object({
    id: z.int(),
    webhook_id: z.int(),
    event_id: z.string().meta({ description: 'The header `webhook-id` of its requests.' }),
    type,
    status: z.enum(statuses).meta({
      description:
        '`pending`: the first attempt is to be made; `retrying`: another is; `delivered`; `failed`: no more are made.',
    }),
    response_code: z.int().nullable().meta({ description: 'Of the last attempt that was answered at all.' }),
    attempt_count: z.int().min(0),
    next_attempt_at: when.nullable().meta({ description: 'While it is `retrying`.' }),
    last_error: z.string().nullable().meta({
      description:
        'Why the last attempt failed; `webhook_off`: the webhook was turned off before it was acknowledged.',
    }),
    test: z.boolean().meta({ description: 'Made by POST /webhooks/{id}/test.' }),
    created_at: when,
  })
  .meta({ id: 'WebhookDelivery' });

/** One delivery, with its attempts. */
export const deliveryDetail = deliveryResource
  .extend({
    attempts: z
      .array(
        z.object({
          number: z.int().min(1),
          started_at: when,
          duration_ms: z.int().min(0),
          response_code: z.int().nullable(),
          error: z.string().nullable().meta({ description: 'Null where it was acknowledged.' }),
          response_body: z.string().nullable().meta({ description: 'The first 1 KB of the answer.' }),
        }),
      )
      .meta({ description: 'Oldest first.' }),
  })
  .meta({ id: 'WebhookDeliveryDetail' });

export type DeliveryResource = z.output<typeof deliveryResource>;
export type DeliveryDetail = z.output<typeof deliveryDetail>;
export type DeliveryFilters = Pick<z.output<typeof listDeliveriesQuery>, 'status' | 'type'>;
