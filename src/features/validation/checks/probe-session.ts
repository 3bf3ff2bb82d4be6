import { isBlock, refusedMailbox } from '../../../delivery/terms/bounces.ts';
import { SmtpConnectionError } from '../../../delivery/wire/smtp/connection-error.ts';
import type { SmtpCapabilities, SmtpTarget } from '../../../delivery/wire/smtp/contract.ts';
import { Dialogue } from '../../../delivery/wire/smtp/dialogue.ts';
import { createEnvelope } from '../../../delivery/wire/smtp/envelope.ts';
import type { shakeHands } from '../../../delivery/wire/smtp/handshake.ts';
import type { SmtpReply } from '../../../delivery/wire/smtp/reply-parser.ts';
import type { Wire } from '../../../delivery/wire/smtp/wire.ts';

/**
 * What a mail server says about a recipient. `refused`: a 5xx reply without a code about the recipient. `blocked`: a
 * reply that names a policy or a block list, or is about this client. `unsupported`: the server cannot be asked about
 * this address.
 */
export type RecipientAnswer =
  'accepted' | 'missing' | 'full' | 'greylisted' | 'refused' | 'blocked' | 'timeout' | 'unsupported';

/** A recipient, as the parser of addresses returns it. */
export interface Recipient {
  address: string;
  domain: string;
  smtpUtf8: boolean;
}

/** A connection to a mail server that asks about recipients and never sends a message. */
export interface ProbeSession {
  /** Asks about one recipient in a transaction of its own. Never throws. */
  ask(recipient: Recipient): Promise<RecipientAnswer>;
  /** Whether `ask` can still succeed. */
  readonly open: boolean;
  /** Sends QUIT and closes the connection. */
  quit(): Promise<void>;
  /** Closes the connection at once. */
  destroy(): void;
}

export interface ProbeTimeouts {
  connectMs: number;
  /** Time limit per reply. A reply that arrives in pieces gets no more time. */
  replyMs: number;
  /** Time limit for all replies about one recipient. */
  recipientMs: number;
}

const SMTP_PORT = 25;
const QUIT_MS = 5_000;

/** Replies that mean success of RCPT (RFC 5321 §4.3.2). 252 accepts any recipient without checking. */
const ACCEPTED = new Set([250, 251]);

/** Judges the reply to RCPT. Only codes about the recipient prove that there is no such mailbox. */
function judgeRecipient(reply: SmtpReply): RecipientAnswer {
  if (ACCEPTED.has(reply.code)) return 'accepted';
  if (reply.code < 400) return 'unsupported';
  const mailbox = refusedMailbox(reply);
  if (mailbox === 'full') return 'full';
  if (reply.code < 500) return 'greylisted';
  return mailbox ?? (isBlock(reply) ? 'blocked' : 'refused');
}

/** Judges a reply that is about this client rather than a recipient. */
function judgeClient(reply: SmtpReply): RecipientAnswer {
  return reply.code >= 400 && reply.code < 500 ? 'greylisted' : 'blocked';
}

/** What a failed connection means. A server that breaks the protocol does not want to be asked. */
export function judgeFailure(error: unknown): RecipientAnswer {
  if (!(error instanceof SmtpConnectionError)) throw error;
  if (error.reply !== undefined && !error.violation) return judgeClient(error.reply);
  return error.violation ? 'blocked' : 'timeout';
}

async function askRecipient(
  dialogue: Dialogue,
  offer: SmtpCapabilities,
  recipient: Recipient,
): Promise<RecipientAnswer> {
  // Send neither SIZE nor DSN parameters: no message will follow.
  const offered = { ...offer, size: null, dsn: false };
  const { address: to, smtpUtf8 } = recipient;
  const envelope = createEnvelope({ from: '', to, smtpUtf8, eightBit: false, data: '' }, offered);
  if ('kind' in envelope) return 'unsupported';
  const mail = await dialogue.ask('mail', envelope.mail.trimEnd());
  if (mail.code !== 250) return judgeClient(mail);
  return judgeRecipient(await dialogue.ask('rcpt', envelope.rcpt.trimEnd()));
}

/**
 * Connects to port 25 of a mail server and sends EHLO. The connection is not encrypted: few servers that receive mail
 * have a certificate that can be verified.
 * @param address an IP address that the egress policy permits; no name is looked up
 * @throws SmtpConnectionError
 */
export async function openProbeSession(
  address: string,
  {
    clientName,
    timeouts,
    connect,
  }: { clientName: string; timeouts: ProbeTimeouts; connect: typeof shakeHands },
): Promise<ProbeSession> {
  const target: SmtpTarget = {
    host: address,
    port: SMTP_PORT,
    security: 'none',
    clientName,
    connectTimeoutMs: timeouts.connectMs,
    replyTimeoutMs: timeouts.replyMs,
  };
  const { wire, offer } = await connect(target);
  const dialogue = new Dialogue(timeouts.replyMs);
  dialogue.use(wire);
  wire.listen(dialogue);
  return sessionOf(wire, dialogue, offer, timeouts.recipientMs);
}

function sessionOf(
  wire: Wire,
  dialogue: Dialogue,
  offer: SmtpCapabilities,
  recipientMs: number,
): ProbeSession {
  let open = true;
  const end = (): void => {
    open = false;
    wire.end(new SmtpConnectionError('idle', 'the probe has ended'));
  };
  const ask = async (recipient: Recipient): Promise<RecipientAnswer> => {
    let answer: RecipientAnswer;
    try {
      answer = await askRecipient(dialogue, offer, recipient);
    } catch (error) {
      end();
      return judgeFailure(error);
    }
    const reset = await dialogue.ask('idle', 'RSET').catch(() => null);
    if (reset?.code !== 250) end();
    return answer;
  };
  return {
    async ask(recipient) {
      const timer = setTimeout(end, recipientMs);
      try {
        return await ask(recipient);
      } finally {
        clearTimeout(timer);
      }
    },
    get open() {
      return open;
    },
    async quit() {
      if (!open) return;
      const timer = setTimeout(end, QUIT_MS);
      await dialogue.ask('idle', 'QUIT').catch(() => undefined);
      clearTimeout(timer);
      end();
    },
    destroy: end,
  };
}
