import { z } from 'zod';
import type { Role } from '../../platform/auth/tenant.ts';
import { flagFilter, idParam } from '../../platform/db/paging.ts';
import { eventTypes } from './catalogue.ts';

/** Roles that may manage webhooks: the same ones that may manage API keys. */
export const webhookRoles: Role[] = ['owner', 'admin'];

const MAX_URL_LENGTH = 2_048;

const urlField = z
  .string()
  .min(1)
  .max(MAX_URL_LENGTH)
  .meta({
    format: 'uri',
    pattern: '^[hH][tT][tT][pP][sS]:',
    description: 'An HTTPS URL with a public host and without credentials.',
    examples: ['https://example.com/hooks/carillon'],
  });

const eventsField = z
  .array(z.enum(eventTypes))
  .min(1)
  .max(100)
  .transform((events) => [...new Set(events)])
  .meta({ description: 'Types of event to send. Duplicates are merged.' });

export const createWebhookBody = z.strictObject({ url: urlField, events: eventsField });

/** PATCH /v1/my/webhooks/{id}: an omitted field stays unchanged. */
export const changeWebhookBody = z.strictObject({
  url: urlField.optional(),
  events: eventsField.optional(),
  enabled: z
    .boolean()
    .optional()
    .meta({
      description:
        'Events that occur while the webhook is off are never sent. Turning it off ends waiting retries; turning it on ' +
        'resets `failing_since`, `disabled_at` and `disabled_reason` to null.',
    }),
});

export const webhookParams = z.strictObject({ id: idParam });

export const getWebhookQuery = z.strictObject({
  reveal: flagFilter.meta({ description: '`true` returns the whole secret.' }),
});

const when = z.iso.datetime();

export const webhookResource = z
  .object({
    id: z.int(),
    url: z.string(),
    events: z.array(z.enum(eventTypes)),
    secret: z.string().meta({
      description:
        'The whole secret in responses that create it and with `reveal=true`; otherwise `whsec_…` and the last 4 characters.',
    }),
    enabled: z.boolean(),
    failing_since: when
      .nullable()
      .meta({ description: 'Every attempt since this time has failed. Null if the webhook is not failing.' }),
    disabled_at: when.nullable(),
    disabled_reason: z.string().nullable().meta({
      description: '`manual`: turned off by PATCH; `failing`: every attempt had failed for three days.',
    }),
    created_at: when,
    updated_at: when,
  })
  .meta({ id: 'Webhook' });

function readOnlyBeside(body: z.ZodObject): string[] {
  return Object.keys(webhookResource.shape).filter((name) => !(name in body.shape));
}

/** Fields of the resource that a client may send back. They are ignored. */
export const createReadOnlyFields = readOnlyBeside(createWebhookBody);
export const changeReadOnlyFields = readOnlyBeside(changeWebhookBody);

export type WebhookResource = z.output<typeof webhookResource>;
export type CreateWebhook = z.output<typeof createWebhookBody>;
export type ChangeWebhook = z.output<typeof changeWebhookBody>;
