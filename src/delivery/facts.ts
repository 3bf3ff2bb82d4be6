import type { Bounce, FailureCode } from './message.ts';

/** Where a report about a message came from. */
export type FactSource =
  /** A callback of this provider. It counts only if the provider has the message, or an open hand-over of it. */
  | { kind: 'callback'; provider: string }
  /** A mail to the message's return path, or a feedback report that returned its Message-ID. */
  | { kind: 'mail' };

/**
 * A report about a message that arrived after its hand-over, or during it. Whoever creates it has checked its MAC, so
 * the message is one of the account's.
 */
export interface DeliveryFact {
  accountId: number;
  messageId: number;
  source: FactSource;
  type: 'accepted' | 'delivered' | 'deferred' | 'bounced' | 'complained' | 'failed';
  occurredAt: Date;
  providerMessageId: string | null;
  response: string | null;
  /** With `bounced` only. */
  bounce: Bounce | null;
  /** With `failed` only. */
  failure: { code: FailureCode; message: string } | null;
  /** With `bounced` and `complained`: whether the report may suppress the address. */
  suppresses: boolean;
}
