import type { z } from 'zod';
import type { Components, JsonObject } from '../../platform/openapi/components.ts';
import type { WebhookSection } from '../../platform/openapi/document.ts';
import { eventCatalogue, eventTypes } from './catalogue.ts';

/** An event as subscribers get it. */
export interface WebhookDescription {
  /** Such as `email.sent`. */
  type: string;
  /** When it is sent. */
  description: string;
  /** Of the body's `data`. */
  data: z.ZodType;
  /** A whole body, as `POST /webhooks/{id}/test` sends it. */
  example: JsonObject;
}

const TAG = 'Webhook events';

const header = (name: string, description: string, schema: JsonObject): JsonObject => ({
  name,
  in: 'header',
  required: true,
  description,
  schema,
});

const requestHeaders = [
  header('User-Agent', 'Names the sender, with a version of its own.', {
    type: 'string',
    pattern: '^Carillon-Webhooks/',
  }),
  header('webhook-id', 'Names the event; the same at every try. Deduplicate on it.', {
    type: 'string',
    pattern: '^evt_',
  }),
  header('webhook-timestamp', 'Unix seconds of this try; refuse what is more than 5 minutes off.', {
    type: 'integer',
  }),
  header(
    'webhook-signature',
    'Values separated by spaces, each `v1,` and the base64 of an HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{raw body}`, ' +
      'keyed by what follows `whsec_` in the secret, decoded from base64. Accept it if one matches.',
    { type: 'string' },
  ),
];

function bodyOf(event: WebhookDescription, components: Components): JsonObject {
  const name = event.type.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase());
  return {
    type: 'object',
    required: ['type', 'timestamp', 'data'],
    properties: {
      type: { type: 'string', const: event.type },
      timestamp: {
        type: 'string',
        format: 'date-time',
        description: 'When it happened, with milliseconds. Order by it.',
      },
      data: components.describe(event.data, 'output', `${name}Data`),
    },
  };
}

/** The requests that the service sends to webhook endpoints. */
function describeWebhooks(events: readonly WebhookDescription[], components: Components): JsonObject {
  const described = events.map((event): [string, JsonObject] => [
    event.type,
    {
      post: {
        operationId: `on_${event.type.replace('.', '_')}`,
        tags: [TAG],
        summary: event.type,
        description: event.description,
        security: [],
        parameters: requestHeaders,
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: bodyOf(event, components),
              examples: { test: { summary: 'A test event', value: event.example } },
            },
          },
        },
        responses: {
          '2XX': { description: 'Taken. Answer within 10 seconds.' },
          default: {
            description:
              'Anything else, redirects and time-outs included, is tried again after 1 minute, 5 minutes, 30 minutes, 2 hours, ' +
              '8 hours and 24 hours.',
          },
        },
      },
    },
  ]);
  return Object.fromEntries(described);
}

const SAMPLED_AT = new Date('2026-03-01T10:00:00.000Z');

/** Every event of the catalogue. */
const webhookDescriptions: readonly WebhookDescription[] = eventTypes.map((type) => {
  const { sentWhen, data, sample } = eventCatalogue[type];
  return {
    type,
    description: sentWhen,
    data,
    example: { type, timestamp: SAMPLED_AT.toISOString(), data: sample(SAMPLED_AT) },
  };
});

/** The `webhooks` section of the OpenAPI document. */
export function webhookSection(events: readonly WebhookDescription[] = webhookDescriptions): WebhookSection {
  return {
    tag: {
      name: TAG,
      description:
        'Events that the service sends to your webhook endpoints, signed by the Standard Webhooks scheme.',
    },
    describe: (components) => describeWebhooks(events, components),
  };
}
