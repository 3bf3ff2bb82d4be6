import { z } from 'zod';
import { eventTypes } from './events.ts';

const MOST_URL = 2_048;

const urlField = z
  .string()
  .min(1)
  .max(MOST_URL)
  .meta({
    description: 'HTTPS, a public host, no credentials.',
    examples: ['https://example.com/hooks/carillon'],
  });

const eventsField = z
  .array(z.enum(eventTypes))
  .min(1)
  .max(100)
  .transform((events) => [...new Set(events)])
  .meta({ description: 'What to be told of; duplicates are merged.' });

export const createWebhookBody = z.strictObject({ url: urlField, events: eventsField });

export const webhookParams = z.strictObject({
  id: z
    .string()
    .regex(/^[1-9]\d{0,14}$/)
    .transform(Number)
    .meta({ type: 'integer', pattern: undefined }),
});

export const getWebhookQuery = z.strictObject({
  reveal: z
    .enum(['true', 'false'])
    .transform((value) => value === 'true')
    .optional()
    .meta({ description: '`true` shows the secret whole.' }),
});

/** Fields that a client may send back and that are ignored. */
export const webhookReadOnlyFields = [
  'id',
  'secret',
  'enabled',
  'failing_since',
  'disabled_at',
  'disabled_reason',
  'created_at',
  'updated_at',
];

const when = z.iso.datetime();

export const webhookResource = z.object({
  id: z.int(),
  url: z.string(),
  events: z.array(z.enum(eventTypes)),
  secret: z.string().meta({
    description:
      'Whole in the answer that created it and with `reveal=true`; else `whsec_…` and the last 4 characters.',
  }),
  enabled: z.boolean(),
  failing_since: when.nullable().meta({ description: 'Since when every attempt has failed.' }),
  disabled_at: when.nullable(),
  disabled_reason: z.string().nullable(),
  created_at: when,
  updated_at: when,
});

export type WebhookResource = z.output<typeof webhookResource>;
export type CreateWebhook = z.output<typeof createWebhookBody>;
