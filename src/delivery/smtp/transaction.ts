import type { SmtpConnectionError } from './connection-error.ts';
import type { SmtpOutcome } from './contract.ts';
import type { Envelope } from './envelope.ts';
import type { SmtpReply } from './reply-parser.ts';

/** Why a message is refused. */
export interface Verdict {
  stage: 'mail' | 'rcpt' | 'data' | 'body';
  reply: SmtpReply;
}

/** One message on its way. */
export interface Transaction {
  envelope: Envelope;
  resolve: (outcome: SmtpOutcome) => void;
  /** The first refusal; what follows of the transaction cannot change it. */
  verdict: Verdict | null;
}

/** How far the transaction had come whose connection ended. */
interface Progress {
  /** 354 has come. */
  goAhead: boolean;
  /** The final dot has been written. */
  dotWritten: boolean;
}

/**
 * What became of the message in hand when its connection ended. A verdict stands, unless the replies turn out to have
 * been shifted; 354 shows that those before it were not.
 */
export function outcomeOfLost(
  verdict: Verdict | null,
  progress: Progress,
  error: SmtpConnectionError,
): SmtpOutcome {
  if (verdict && (!error.violation || progress.goAhead))
    return { kind: 'refused', ...verdict, connectionLost: true };
  return { kind: progress.dotWritten && !verdict ? 'ambiguous' : 'not_sent', error };
}
