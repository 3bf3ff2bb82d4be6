import type { Bounce, FailureCode } from '../message.ts';
import type { BuiltMessage } from '../mime/message.ts';

/** What became of one message handed to a provider. */
export type HandOverOutcome =
  /** The provider has it. `delivered`: the recipient's side is known to have it, too. */
  | { kind: 'accepted'; providerMessageId: string | null; response: string; delivered: boolean }
  /**
   * A passing refusal of this message (4xx): counts as an attempt and is tried again later. `connectionLost`: the
   * provider ended the connection with it; three such in a row open its breaker.
   */
  | { kind: 'deferred'; response: string; connectionLost?: true }
  /** A final refusal because of the recipient: the address is suppressed. */
  | { kind: 'bounced'; bounce: Bounce; response: string }
  /** A final refusal for another reason; never suppresses. */
  | { kind: 'refused'; code: FailureCode; response: string }
  /** Trouble with the provider, no verdict on the message: it returns to the queue as it was. */
  | { kind: 'fault'; reason: string }
  /** Not handed over because of another message of its window; it returns to the queue as it was. */
  | { kind: 'not_tried' }
  /** It may or may not have arrived. */
  | { kind: 'unknown'; reason: string };

/** One email as it is handed to a provider. */
export interface OutgoingEmail {
  messageId: number;
  /** Counted from 1; (messageId, attempt) names this handing-over for ever. */
  attempt: number;
  /** Where bounces return to: the envelope's sender. */
  returnPath: string;
  /** The recipient's bare address, its domain in A-labels. */
  to: string;
  from: string;
  subject: string;
  /** The client's, and `account_id`, `brand_id`, `message_id`, for providers that keep tags with a message. */
  tags: Record<string, string>;
  /** The complete signed message; the same bytes whenever the same email is handed over. */
  built: BuiltMessage;
}

/**
 * How Carillon reaches one kind of email service. To add a provider, write one file that exports
 * `create…Provider(url, deps): EmailProvider` and name its URL scheme in `registry.ts`. `docs/providers.md` has more.
 */
export interface EmailProvider {
  readonly name: string;
  /** Windows it can work on at once; the sender keeps this many in flight. */
  readonly concurrency: number;
  /**
   * Hand over a window of at most 50. Resolves when every email has its outcome, in the window's order.
   * Never rejects for trouble with the provider: that is an outcome (`fault`, `unknown`) of each email concerned.
   */
  handOver(window: readonly OutgoingEmail[]): Promise<HandOverOutcome[]>;
  /** Finish politely; nothing is handed over afterwards. */
  close(): Promise<void>;
}

/** One SMS as it is handed to a provider. */
export interface OutgoingSms {
  messageId: number;
  /** Counted from 1; (messageId, attempt) names this handing-over for ever. */
  attempt: number;
  /** E.164. */
  to: string;
  text: string;
  segments: number;
}

/** How Carillon reaches one SMS service; the same contract as `EmailProvider`. */
export interface SmsProvider {
  readonly name: string;
  readonly concurrency: number;
  handOver(window: readonly OutgoingSms[]): Promise<HandOverOutcome[]>;
  close(): Promise<void>;
}
