import type { HandOverOutcome } from '../outcome.ts';

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
