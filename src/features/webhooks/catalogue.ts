import { accountEvents } from './catalogue/account.ts';
import { emailEvents } from './catalogue/email.ts';

/**
 * Every event that webhooks are told of (interface §6.3, §6.4): when it is sent, the schema of its `data`, a sample.
 * A room that tells of something new adds it to `catalogue/` and publishes it through `publishEvents`; validation,
 * `POST /webhooks/{id}/test` and `/openapi.yaml` follow.
 */
export const eventCatalogue = { ...emailEvents, ...accountEvents };

export type EventType = keyof typeof eventCatalogue;

export const eventTypes = Object.keys(eventCatalogue) as [EventType, ...EventType[]];
