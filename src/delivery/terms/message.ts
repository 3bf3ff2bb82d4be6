/** Names of the tags with which the service marks an email at its provider. */
export const systemTags = ['account_id', 'brand_id', 'message_id', 'campaign_id', 'flow_id'] as const;

export { type Channel, channels } from './channels/index.ts';

/** Classes by their number in the database. A lower class is sent before a higher one. */
export const messageClasses = { transactional: 0, flow: 1, campaign: 2 } as const;

export type MessageClass = (typeof messageClasses)[keyof typeof messageClasses];

/** How long a message may wait in total, for capacity or for a provider that refuses it temporarily. */
export const MESSAGE_LIFETIME_HOURS = 72;

/** How far ahead a message may be scheduled at most, in days. */
export const MAX_SCHEDULED_DAYS = 30;

/** SQL: an interval. */
export const MESSAGE_LIFETIME = `interval '${MESSAGE_LIFETIME_HOURS} hours'`;

/** The latest time for which a message can be scheduled now. */
export const latestSchedule = (): Date => new Date(Date.now() + MAX_SCHEDULED_DAYS * 86_400_000);

/** The states of a message. `sending` is not stored: it is shown while an intent covers the message. */
export const messageStatuses = [
  'queued',
  'held',
  'sent',
  'delivered',
  'bounced',
  'complained',
  'failed',
  'unknown',
  'skipped',
  'canceled',
] as const;

export type MessageStatus = (typeof messageStatuses)[number];

/** The states that may follow each state. Late reports, such as a bounce after `delivered`, are included. */
export const transitions: Record<MessageStatus, readonly MessageStatus[]> = {
  queued: messageStatuses,
  held: messageStatuses,
  unknown: ['queued', 'held', 'unknown', 'sent', 'delivered', 'bounced', 'complained', 'failed'],
  sent: ['delivered', 'bounced', 'complained', 'failed'],
  delivered: ['bounced', 'complained'],
  bounced: ['delivered', 'complained'],
  complained: [],
  failed: ['sent', 'delivered', 'complained'],
  skipped: [],
  canceled: [],
};

/** The states that `next` may follow. A guarded update names them in its `where`. */
export function statesBefore(next: MessageStatus): MessageStatus[] {
  return messageStatuses.filter((status) => transitions[status].includes(next));
}

/** States of messages that may still be handed over. */
export const openStatuses = statesBefore('queued');

/** SQL: a list of literals for `in (…)`. */
export function statusList(statuses: readonly MessageStatus[]): string {
  return statuses.length === 0 ? 'null' : statuses.map((status) => `'${status}'`).join(', ');
}

/** Why a recipient of a campaign or flow is `skipped`; clients see it in `failure.code`. */
export const skipCodes = [
  'unsubscribed',
  'suppressed',
  'contact_deleted',
  'no_address',
  'duplicate_address',
  'frequency_cap',
  'no_price',
] as const;

export type SkipCode = (typeof skipCodes)[number];

/** Why a message is `failed` or `skipped`; clients see it in `failure.code`. */
export type FailureCode =
  | SkipCode
  | 'expired'
  | 'rejected'
  | 'invalid_recipient'
  | 'content_rejected'
  | 'sender_rejected'
  | 'provider_error'
  | 'insufficient_funds'
  | 'spend_cap_reached'
  | 'canceled';

export const bounceSubtypes = [
  'no_such_mailbox',
  'no_such_domain',
  'bad_address',
  'moved',
  'mailbox_disabled',
  'mailbox_full',
  'expired',
  'provider_suppressed',
  'blocked',
  'other',
] as const;

export type BounceSubtype = (typeof bounceSubtypes)[number];

export interface Bounce {
  type: 'hard' | 'soft';
  subtype: BounceSubtype;
  /** The remote server's reply, at most 500 characters. */
  diagnostic: string;
}

/** What happened to a message, as `message_events` and the events of `events.ts` name it. */
export type MessageEventType =
  'sent' | 'delivered' | 'bounced' | 'complained' | 'deferred' | 'failed' | 'unknown';
