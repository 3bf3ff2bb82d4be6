import type { EventDefinition } from '../../platform/events/define.ts';
import type { Components, JsonObject } from '../../platform/openapi/components.ts';
import type { WebhookSection } from '../../platform/openapi/document.ts';
import { eventCatalogue } from './catalogue.ts';

const TAG = 'Webhook events';
/** The time in every example. */
const SAMPLED_AT = new Date('2026-03-01T10:00:00.000Z');

const header = (name: string, description: string, schema: JsonObject): JsonObject => ({
  name,
  in: 'header',
  required: true,
  description,
  schema,
});

const requestHeaders = [
  header('User-Agent', 'Name and version of the sender.', {
    type: 'string',
    pattern: '^Carillon-Webhooks/',
  }),
  header('webhook-id', 'Id of the event, the same for every attempt. Deduplicate on it.', {
    type: 'string',
    pattern: '^evt_',
  }),
  header(
    'webhook-timestamp',
    'Unix seconds of this attempt. Reject times that are more than 5 minutes off.',
    {
      type: 'integer',
    },
  ),
  header(
    'webhook-signature',
    'One or more values separated by spaces, each `v1,` and the base64 of an HMAC-SHA256 over ' +
      '`{webhook-id}.{webhook-timestamp}.{raw body}`. The key is the part of the secret after `whsec_`, decoded from base64. ' +
      'Accept the request if one value matches.',
    { type: 'string' },
  ),
];

const responses = {
  '2XX': { description: 'Acknowledged. Respond within 10 seconds.' },
  default: {
    description:
      'Time-outs and all other responses, redirects included, are retried after 1 minute, 5 minutes, 30 minutes, 2 hours, ' +
      '8 hours and 24 hours.',
  },
};

function bodySchema({ type, data }: EventDefinition, components: Components): JsonObject {
  return {
    type: 'object',
    required: ['type', 'timestamp', 'data'],
    properties: {
      type: { type: 'string', const: type },
      timestamp: {
        type: 'string',
        format: 'date-time',
        description: 'When the event occurred, with milliseconds. Order by it.',
      },
      data: components.describe(data, 'output'),
    },
  };
}

function describeRequest(event: EventDefinition, components: Components): JsonObject {
  const { type, sentWhen, sample } = event;
  const example = { type, timestamp: SAMPLED_AT.toISOString(), data: sample(SAMPLED_AT) };
  return {
    operationId: `on_${type.replace('.', '_')}`,
    tags: [TAG],
    // Keep client generators from making functions of these: clients receive these requests.
    'x-internal': true,
    summary: type,
    description: sentWhen,
    security: [],
    parameters: requestHeaders,
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: bodySchema(event, components),
          examples: { test: { summary: 'A test event', value: example } },
        },
      },
    },
    responses,
  };
}

/** The `webhooks` section of the OpenAPI document: the requests that the service sends to webhook endpoints. */
export function webhookSection(
  events: readonly EventDefinition[] = Object.values(eventCatalogue),
): WebhookSection {
  return {
    tag: {
      name: TAG,
      description:
        'Events that the service sends to your webhook endpoints, signed by the Standard Webhooks scheme.',
    },
    describe: (components) =>
      Object.fromEntries(events.map((event) => [event.type, { post: describeRequest(event, components) }])),
  };
}
