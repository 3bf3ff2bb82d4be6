import type { Bounce, FailureCode } from './message.ts';

/** The outcome of handing one message to a provider. */
export type HandOverOutcome =
  /**
   * The provider has accepted the message. `delivered`: the recipient's server is known to have it, too. `segments`:
   * number of segments of the text, as the sender composed it.
   */
  | {
      kind: 'accepted';
      providerMessageId: string | null;
      response: string;
      delivered: boolean;
      segments?: number;
    }
  /**
   * A temporary refusal of this message (4xx). It counts as an attempt and is tried again later. `connectionLost`:
   * the provider ended the connection with it; three of these in a row open the provider's breaker. `expiresAs`: the
   * refusal is the recipient's fault, so the message bounces if it is still refused when it expires.
   */
  | { kind: 'deferred'; response: string; connectionLost?: true; expiresAs?: Bounce }
  /** A final refusal because of the recipient. A hard bounce suppresses the address, except `provider_suppressed`. */
  | { kind: 'bounced'; bounce: Bounce; response: string }
  /**
   * A final refusal for another reason. It never suppresses the address. `optedOut`: the reason is that the recipient
   * opted out of the brand's messages at the service.
   */
  | { kind: 'refused'; code: FailureCode; response: string; optedOut?: true }
  /**
   * The provider failed, which says nothing about the message. The message returns to the queue unchanged. `reason` is
   * shown to operators and goes into logs: no secrets, no addresses. `retryAfterMs`: how long the provider asked to
   * wait.
   */
  | { kind: 'fault'; reason: string; retryAfterMs?: number }
  /**
   * The connection was lost while this message was transferred, and the provider certainly does not have it. It returns
   * to the queue unchanged and is handed over alone. When that happens again, it counts as a temporary refusal: one
   * message that breaks connections must not stop the others, and a provider that restarts must not cost attempts.
   */
  | { kind: 'lost'; reason: string }
  /**
   * Not handed over because of another message of its batch, or because the provider stops. The message returns to the
   * queue unchanged.
   */
  | { kind: 'not_tried' }
  /** The message may or may not have arrived. */
  | { kind: 'unknown'; reason: string }
  /**
   * Not handed over, because the sender could not compose it. Providers never return it. `final`: no later attempt can
   * compose it either; else it counts as an attempt and is tried again later.
   */
  | { kind: 'not_composed'; final: boolean; response: string };
