/** What a provider, or a mail server, reports about a message after its hand-over. */
import type { Bounce, FailureCode } from '../../terms/message.ts';

/** Where a report about a message came from. */
export type FactSource =
  /** A callback of this provider. It counts only if the provider has the message or had it before. */
  | { kind: 'callback'; provider: string }
  /** A mail to the message's return path, or a feedback report that returned its Message-ID. */
  | { kind: 'mail' };

/**
 * A report about a message that arrived during or after its hand-over. The code that creates it must have checked the
 * report's MAC, so that the message belongs to the account.
 */
export interface DeliveryFact {
  accountId: number;
  messageId: number;
  source: FactSource;
  type: 'accepted' | 'delivered' | 'deferred' | 'bounced' | 'complained' | 'failed';
  occurredAt: Date;
  providerMessageId: string | null;
  response: string | null;
  /** Set only with `bounced`. */
  bounce: Bounce | null;
  /** Set only with `failed`. */
  failure: { code: FailureCode; message: string } | null;
  /** With `bounced` and `complained`: whether the report may suppress the address. */
  suppresses: boolean;
  /**
   * With `complained`: the recipient that the report names. If it is not the recipient of the message, or null, the
   * complaint suppresses the address but does not count against the account. Absent: the source is trusted.
   */
  complainant?: string | null;
  /** With `failed`: the provider refused the message because the recipient opted out of the brand's messages. */
  optedOut?: true;
}

/**
 * The accounts whose recipients the facts may suppress or unsubscribe, whether the facts are new or known. After
 * recording, wait for the recipient fence of each account before you confirm the report. This includes known facts,
 * because the first report may have failed before that.
 */
export function accountsToFence(facts: readonly DeliveryFact[]): number[] {
  const stops = facts.filter(
    ({ type, suppresses, optedOut }) =>
      optedOut === true || (suppresses && (type === 'bounced' || type === 'complained')),
  );
  return [...new Set(stops.map(({ accountId }) => accountId))];
}
