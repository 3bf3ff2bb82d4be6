/** Why a message is `failed`; public, see the interface of messages. */
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
  /** What the other side said, at most 500 characters. */
  diagnostic: string;
}

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
