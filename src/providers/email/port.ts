import type { BuiltMessage } from '../../mime/message.ts';
import type { HandOverOutcome } from '../outcome.ts';

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
