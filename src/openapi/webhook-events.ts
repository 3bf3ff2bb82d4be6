import { eventData, eventTypes, type EventType } from '../webhooks/events.ts';
import type { WebhookDescription } from './webhooks.ts';

/** When each event is sent (interface sections 6.3 and 6.4). */
const sentWhen: Record<EventType, string> = {
  'email.sent': 'A provider accepted the message.',
  'email.delivered': 'The recipient’s mail server accepted it.',
  'email.bounced': 'It bounced, hard or soft.',
  'email.complained': 'The recipient marked it as spam.',
  'email.opened': 'It was opened for the first time; security scanners and bots do not count.',
  'email.clicked': 'A person clicked a link of it for the first time; once for each link.',
  'email.failed': 'It failed for good; failures that are still being retried are not told.',
  'email.received': 'Mail reached one of the brand’s inboxes and was not quarantined.',
  'campaign.completed': 'A campaign was sent to its whole audience.',
  'campaign.failed': 'A campaign ended before it reached anybody.',
  'campaign.stopped': 'A campaign was paused: too many bounces or complaints.',
  'flow.paused': 'A flow was paused: too many bounces or complaints.',
  'sending.paused': 'All sending of the account was paused.',
  'sending.limit_approaching': 'Most of the rolling 24-hour allowance is used.',
  'sending.limit_reached': 'The whole rolling 24-hour allowance is used; messages wait for capacity.',
  'import.completed': 'An import of contacts finished.',
  'import.failed': 'An import of contacts failed.',
  'domain.verified': 'A sending domain passed verification.',
  'domain.verification_lost': 'A verified domain failed its DNS checks.',
  'domain.dns_degraded': 'The DNS records of a verified domain could not be confirmed.',
  'webhook.disabled': 'A webhook was turned off after three days of failed deliveries.',
};

/** Every event of the catalogue, for the document. */
export const webhookDescriptions: readonly WebhookDescription[] = eventTypes.map((type) => ({
  type,
  description: sentWhen[type],
  data: eventData[type],
}));
