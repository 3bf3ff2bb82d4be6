import type { SmtpConnectionError } from './connection-error.ts';
import type { SmtpOutcome } from './contract.ts';
import type { Envelope } from './envelope.ts';
import type { SmtpReply } from './reply-parser.ts';

/** The reply that refused a message. */
export interface Verdict {
  stage: 'mail' | 'rcpt' | 'data' | 'body';
  reply: SmtpReply;
}

/** A message that is being sent. */
export interface Transaction {
  envelope: Envelope;
  resolve: (outcome: SmtpOutcome) => void;
  /** The first refusal. Later replies of the transaction do not change it. */
  verdict: Verdict | null;
}

/** How far a transaction had come when its connection ended. */
interface Progress {
  /** MAIL has been written. */
  begun: boolean;
  /** 354 has arrived. */
  goAhead: boolean;
  /** The final dot has been written. */
  dotWritten: boolean;
}

/**
 * The outcome of the current message when its connection ended. A verdict counts unless replies may have been matched
 * with the wrong commands. A 354 proves that the replies before it were matched correctly.
 */
export function outcomeOfLost(
  verdict: Verdict | null,
  progress: Progress,
  error: SmtpConnectionError,
): SmtpOutcome {
  if (verdict && (!error.violation || progress.goAhead))
    return { kind: 'refused', ...verdict, connectionLost: true };
  if (progress.dotWritten && !verdict) return { kind: 'ambiguous', error };
  return { kind: 'not_sent', error, ...(progress.begun ? { inTransfer: true } : {}) };
}
