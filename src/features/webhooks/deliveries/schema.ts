import { z } from 'zod';
import { filterTime } from '../../../platform/db/filter-time.ts';
import { byStrangers, mayHaveTextsOfStrangers } from '../../../platform/openapi/strangers-texts.ts';
import { idParam, wholeListQuery } from '../../../platform/db/paging.ts';
import { eventCatalogue, eventTypes } from '../catalogue.ts';

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
  type: type
    .default('email.delivered')
    .meta({ description: 'May also be a type that the webhook is not subscribed to.' }),
});

/** Maximum number of deliveries that one request retries. */
export const MAX_RETRIED = 10_000;

/** POST /webhooks/{id}/retry_deliveries. */
export const retryDeliveriesBody = z
  .strictObject({
    status: z.enum(['failed', 'delivered']).default('failed').meta({
      description:
        '`delivered` sends events once more that the endpoint has acknowledged; it requires `since`.',
    }),
    since: filterTime.optional().meta({
      description: 'Deliveries created at this time or later; by default, those of the last 7 days.',
    }),
    until: filterTime.optional().meta({ description: 'Deliveries created before this time.' }),
    type: type.optional(),
  })
  .refine(({ status, since }) => status === 'failed' || since !== undefined, {
    path: ['since'],
    message: 'is required to replay delivered events',
  });
export type RetriedDeliveries = z.output<typeof retryDeliveriesBody>;

export const retryResult = z
  .object({
    retried_count: z.int().min(0),
    complete: z.boolean().meta({
      description: `False if there are more than the ${MAX_RETRIED} deliveries that one request retries, oldest first: send it again.`,
    }),
  })
  .meta({ id: 'WebhookDeliveryRetries' });

/** An event for one webhook. */
export const deliveryResource = z
  .object({
    id: z.int(),
    webhook_id: z.int(),
    event_id: z.string().meta({ description: 'Value of the header `webhook-id` in its requests.' }),
    type,
    status: z.enum(statuses).meta({
      description:
        '`pending`: waits for its first attempt; `retrying`: waits for a retry; `delivered`; `failed`: is not attempted again.',
    }),
    response_code: z.int().nullable().meta({
      description:
        'HTTP status of the last attempt that got a response. Null if none did, for example after time-outs.',
    }),
    attempt_count: z.int().min(0),
    next_attempt_at: when.nullable().meta({ description: 'Set while the status is `retrying`.' }),
    last_error: z.string().nullable().meta({
      description:
        'Why the last attempt failed. `webhook_off`: the webhook was turned off before it acknowledged the delivery.',
    }),
    test: z.boolean().meta({ description: 'Whether it was created by POST /webhooks/{id}/test.' }),
    created_at: when,
  })
  .meta({ id: 'WebhookDelivery' });

const typesByStrangers = new Set(
  eventTypes.filter((name) => mayHaveTextsOfStrangers(eventCatalogue[name].data)),
);

/**
 * Whether the event may have texts of strangers, such as the reply of a mail server. Those of tests are samples.
 * @param owner a delivery as clients see it
 */
const mayQuoteStrangers = (owner: unknown): boolean => {
  const { type: name, test } = owner as z.output<typeof deliveryResource>;
  return typesByStrangers.has(name) && !test;
};

/** A webhook delivery with its attempts. */
export const deliveryDetail = deliveryResource
  .extend({
    request_body: byStrangers(
      z.string().nullable().meta({
        description:
          'The body of each request, which its signature is over. Null if the event is no longer kept.',
      }),
      { when: mayQuoteStrangers },
    ),
    attempts: z
      .array(
        z.object({
          number: z.int().min(1),
          started_at: when,
          duration_ms: z.int().min(0),
          response_code: z.int().nullable().meta({ description: 'Null if there was no response.' }),
          error: z.string().nullable().meta({ description: 'Null if the delivery was acknowledged.' }),
          response_body: byStrangers(
            z.string().nullable().meta({ description: 'The first 1 KB of the response body.' }),
          ),
        }),
      )
      .meta({ description: 'Oldest first.' }),
  })
  .meta({ id: 'WebhookDeliveryDetail' });

export type DeliveryResource = z.output<typeof deliveryResource>;
export type DeliveryDetail = z.output<typeof deliveryDetail>;
export type DeliveryFilters = Pick<z.output<typeof listDeliveriesQuery>, 'status' | 'type'>;
