/**
 * The states of a message and every move between them. `sending` is never stored: an open handover covers
 * the message, in answers and in filters.
 */
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

/** What a message may become, by what it is. Late facts (a bounce after `delivered`) have their arrows. */
export const transitions: Record<MessageStatus, readonly MessageStatus[]> = {
  queued: ['queued', 'held', 'sent', 'delivered', 'bounced', 'failed', 'unknown', 'skipped', 'canceled'],
  held: ['queued', 'held', 'sent', 'delivered', 'bounced', 'failed', 'unknown', 'skipped', 'canceled'],
  unknown: ['queued', 'held', 'unknown', 'sent', 'delivered', 'bounced', 'complained', 'failed'],
  sent: ['delivered', 'bounced', 'complained'],
  delivered: ['bounced', 'complained'],
  bounced: ['delivered', 'complained'],
  complained: [],
  failed: ['sent', 'delivered', 'complained'],
  skipped: [],
  canceled: [],
};

/** The states from which `next` can be reached: what a guarded update names in its `where`. */
export function statesBefore(next: MessageStatus): MessageStatus[] {
  return messageStatuses.filter((status) => transitions[status].includes(next));
}

/** Why a message is `failed`; clients see it in `failure.code`. */
export type FailureCode =
  | 'suppressed'
  | 'expired'
  | 'rejected'
  | 'invalid_recipient'
  | 'content_rejected'
  | 'sender_rejected'
  | 'provider_error'
  | 'insufficient_funds'
  | 'spend_cap_reached'
  | 'canceled';

export interface Bounce {
  type: 'hard' | 'soft';
  subtype: string;
  /** The remote server's reply, at most 500 characters. */
  diagnostic: string;
}
