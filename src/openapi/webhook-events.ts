import { eventCatalogue, eventTypes } from '../webhooks/events.ts';
import type { WebhookDescription } from './webhooks.ts';

const SAMPLED_AT = new Date('2026-03-01T10:00:00.000Z');

/** Every event of the catalogue, for the document. */
export const webhookDescriptions: readonly WebhookDescription[] = eventTypes.map((type) => {
  const { sentWhen, data, sample } = eventCatalogue[type];
  return {
    type,
    description: sentWhen,
    data,
    example: { type, timestamp: SAMPLED_AT.toISOString(), data: sample(SAMPLED_AT) },
  };
});
