import { emailEvents, sendingEvents } from '../../delivery/terms/events.ts';
import type { EventDefinition } from '../../platform/events/define.ts';
import { campaignEvents } from '../campaigns/events.ts';
import { domainEvents } from '../domains/events.ts';
import { flowEvents } from '../flows/events.ts';
import { importEvents } from '../imports/events.ts';
import { inboxEvents } from '../inbox/events.ts';
import { trackingEvents } from '../tracking/events.ts';
import { webhookEvents } from './events.ts';

/** Every event that a webhook can subscribe to, in the order of the documentation (interface §6.3, §6.4). */
const definitions = [
  emailEvents.sent,
  emailEvents.delivered,
  emailEvents.bounced,
  emailEvents.complained,
  trackingEvents.opened,
  trackingEvents.clicked,
  emailEvents.failed,
  inboxEvents.received,
  campaignEvents.completed,
  campaignEvents.failed,
  campaignEvents.stopped,
  flowEvents.paused,
  sendingEvents.paused,
  sendingEvents.limitApproaching,
  sendingEvents.limitReached,
  importEvents.completed,
  importEvents.failed,
  domainEvents.verified,
  domainEvents.verificationLost,
  domainEvents.dnsDegraded,
  webhookEvents.disabled,
];

export type EventType = (typeof definitions)[number]['type'];

export const eventTypes = definitions.map(({ type }) => type) as [EventType, ...EventType[]];

type Definition = EventDefinition<EventType>;

export const eventCatalogue = Object.fromEntries(
  definitions.map((definition): [EventType, Definition] => [definition.type, definition]),
) as Record<EventType, Definition>;
