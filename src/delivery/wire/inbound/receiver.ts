import type { Logger } from 'pino';
import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import { networkOf } from '../listening/connections.ts';
import { TinyPieces } from '../listening/data-pieces.ts';
import { type ArrivingMail, beginMail } from './arriving-mail.ts';
import { AccountFull } from './inboxes.ts';
import { findRecipient, type InboundRecipient } from './recipients.ts';
import { type Addressed, type Envelope, takeMail, type TakeMailDeps, TooManyMails } from './take-mail.ts';

export interface ReceiverOptions extends TakeMailDeps {
  /** `MAIL_DOMAIN`: the name in the greeting, and the domain of the operator's mailboxes. */
  mailDomain: string;
}

/** Decides about recipients, and receives messages. Its errors are replies to the client. */
export interface Receiver {
  /** Handles `RCPT TO`. @throws the refusal of the recipient */
  admit(address: SMTPServerAddress, session: SMTPServerSession): Promise<void>;
  /** Accepts a message once everything that it reports is committed, and it is stored for each inbox. @throws the refusal */
  receive(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void>;
}

/** An error that is sent to the client. @param text begins with the enhanced status code */
function refusal(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode });
}

const later = () => refusal(451, '4.3.0 the mail cannot be stored now; try again later');

/** The envelope sender; empty for the null return path. */
const senderOf = ({ envelope: { mailFrom } }: SMTPServerSession) =>
  mailFrom === false ? '' : mailFrom.address;

const clientOf = ({ remoteAddress }: SMTPServerSession) => ({
  ip: remoteAddress || null,
  network: networkOf(remoteAddress),
});

/** Real addresses have at most 254 characters. A command line, and with it an address, may have 16 KB. */
const MAX_SENDER_LENGTH = 1_000;
const MAX_HELO_LENGTH = 255;
/** In one connection. Each costs a query, and a client that guesses addresses has many. */
const MAX_UNKNOWN = 20;

/** The refusal of a message that could not be taken. */
function refusalFor(error: unknown, stream: SMTPServerDataStream, log: Logger): Error {
  if (error instanceof TinyPieces) return refusal(421, `4.7.0 ${error.message}`);
  if (stream.sizeExceeded) return refusal(552, '5.3.4 the message is too large');
  if (error instanceof TooManyMails) return refusal(451, `4.7.1 ${error.message}`);
  if (error instanceof AccountFull) return refusal(452, '4.2.2 this mailbox is full');
  log.warn({ err: error }, 'mail not accepted; its sender will retry');
  return later();
}

/** Creates the part of the listener that knows what mail is for. */
export function createReceiver(options: ReceiverOptions): Receiver {
  const { mailDomain, keys, inboxes, rates, log } = options;
  /** The admitted recipients. The server's envelope has the same objects. */
  const admitted = new WeakMap<SMTPServerAddress, InboundRecipient>();

  /** Numbers of unknown recipients. */
  const unknown = new WeakMap<SMTPServerSession, number>();

  async function findInbox(address: string, session: SMTPServerSession): Promise<InboundRecipient> {
    const sender = senderOf(session);
    if (sender.length > MAX_SENDER_LENGTH) throw refusal(553, '5.1.7 the address of the sender is too long');
    if ((unknown.get(session) ?? 0) >= MAX_UNKNOWN) throw refusal(421, '4.7.0 too many unknown recipients');
    const found = await inboxes.resolve(address).catch((error: unknown) => {
      log.warn({ err: error }, 'recipient not looked up; the sender will retry');
      throw later();
    });
    if (found.kind === 'refused') {
      if (found.status === 550) unknown.set(session, (unknown.get(session) ?? 0) + 1);
      throw refusal(found.status, found.text);
    }
    if (!rates.admit({ ...clientOf(session), sender, inboxId: found.id }))
      throw refusal(451, '4.7.1 too many mails; try again later');
    const { kind, ...inbox } = found;
    return { kind, inbox };
  }

  function recipientsOf({ envelope }: SMTPServerSession): Addressed[] {
    return envelope.rcptTo.flatMap((each) => {
      const recipient = admitted.get(each);
      return recipient ? [{ ...recipient, address: each.address }] : [];
    });
  }

  function envelopeOf(session: SMTPServerSession): Envelope {
    return {
      source: 'smtp',
      envelopeFrom: senderOf(session),
      ...clientOf(session),
      helo: session.hostNameAppearsAs ? session.hostNameAppearsAs.slice(0, MAX_HELO_LENGTH) : null,
      recipients: recipientsOf(session),
    };
  }

  return {
    async admit(address, session) {
      const known = findRecipient(address.address, mailDomain, keys);
      admitted.set(address, known ?? (await findInbox(address.address, session)));
    },
    async receive(stream, session) {
      let mail: ArrivingMail | null = null;
      try {
        mail = await beginMail(stream);
        await takeMail(mail, envelopeOf(session), options);
      } catch (error) {
        // The client reads the reply only after it has sent everything. If it disconnects, no reply is needed.
        await mail?.drain().catch(() => undefined);
        throw refusalFor(error, stream, log);
      }
    },
  };
}
