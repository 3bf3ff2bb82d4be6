import type { Logger } from 'pino';
import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import type { ArrivalRates } from './arrival-rates.ts';
import { type ArrivingMail, beginMail, TinyPieces, TooLarge } from './arriving-mail.ts';
import { networkOf } from './connections.ts';
import { AccountFull, type Inboxes, type InboxTarget } from './inboxes.ts';
import type { NewOperatorMail } from './operator-mails.ts';
import { findRecipient, type InboundRecipient, type MailKeys } from './recipients.ts';
import type { RecordReport } from './record-reports.ts';
import { reportFacts } from './report-facts.ts';
import { isFromMailServer, type MailReport, readReport } from './report.ts';

export interface ReceiverOptions {
  /** `MAIL_DOMAIN`: the name in the greeting, and the domain of the operator's mailboxes. */
  mailDomain: string;
  keys: MailKeys;
  record: RecordReport;
  /** Stores a mail for the operator. */
  keep: (mail: NewOperatorMail) => Promise<void>;
  inboxes: Inboxes;
  /** Limits the mails to inboxes. */
  rates: ArrivalRates;
  log: Logger;
}

/** Decides about recipients, and receives messages. Its errors are replies to the client. */
export interface Receiver {
  /** Handles `RCPT TO`. @throws the refusal of the recipient */
  admit(address: SMTPServerAddress, session: SMTPServerSession): Promise<void>;
  /** Accepts a message once everything that it reports is committed, and it is stored for each inbox. @throws the refusal */
  receive(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void>;
}

/** An error that is sent to the client. @param text begins with the enhanced status code */
export function refusal(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode });
}

const later = () => refusal(451, '4.3.0 the mail cannot be stored now; try again later');

/** The envelope sender; empty for the null return path. */
const senderOf = ({ envelope: { mailFrom } }: SMTPServerSession) =>
  mailFrom === false ? '' : mailFrom.address;

/** A recipient, with the address from `RCPT TO`. */
type Addressed = InboundRecipient & { address: string };

/** Reasons why a mail is not a report that do not rule out that a person wrote it. */
const forPeople = new Set(['no_report', 'unreadable', 'auto_reply']);

const isForPeople = (report: MailReport) => report.kind === 'none' && forPeople.has(report.reason);

/** One target for each inbox. */
function targetsOf(recipients: readonly Addressed[], answers: readonly InboxTarget[]): InboxTarget[] {
  const addressed = recipients.flatMap((one): InboxTarget[] =>
    one.kind === 'inbox' ? [{ inbox: one.inbox, recipient: one.address, answersMessageId: null }] : [],
  );
  const targets = new Map<number, InboxTarget>();
  // What was sent to a return path comes first: it names the message.
  for (const target of [...answers, ...addressed])
    if (!targets.has(target.inbox.id)) targets.set(target.inbox.id, target);
  return [...targets.values()];
}

/** A message, its report and its envelope. */
interface Received {
  mail: ArrivingMail;
  report: MailReport;
  recipients: Addressed[];
  envelopeFrom: string;
  session: SMTPServerSession;
}

/** Reads what a message reports. Inboxes receive no reports, so a message to them alone is not read here. */
async function reportIn(
  { head }: ArrivingMail,
  recipients: readonly Addressed[],
  envelopeFrom: string,
): Promise<MailReport> {
  if (recipients.every(({ kind }) => kind === 'inbox')) return { kind: 'none', reason: 'no_report' };
  const feedbackLoop = recipients.some((one) => one.kind === 'mailbox' && one.name === 'fbl');
  return readReport({ head, envelopeFrom, feedbackLoop });
}

/** The inboxes of the messages that a reply to their return paths answers. Bounces and other reports are no replies. */
async function answered(received: Received, { inboxes }: ReceiverOptions): Promise<InboxTarget[]> {
  const { mail, report, recipients, envelopeFrom } = received;
  const messages = recipients.flatMap((one) => (one.kind === 'return_path' ? [one.message] : []));
  if (messages.length === 0 || !isForPeople(report)) return [];
  if (isFromMailServer({ head: mail.head, envelopeFrom })) return [];
  const targets: InboxTarget[] = [];
  for (const message of messages) {
    const inbox = await inboxes.ofMessage(message);
    // Not the return path itself, which would allow others to report bounces of the message.
    if (inbox) targets.push({ inbox, recipient: inbox.address, answersMessageId: message.messageId });
  }
  return targets;
}

/** Stores the message for the inboxes that it is for, and reads it to its end. @returns their ids */
async function store(received: Received, options: ReceiverOptions): Promise<number[]> {
  const { mail, recipients, envelopeFrom, session } = received;
  const { inboxes } = options;
  const targets = targetsOf(recipients, await answered(received, options));
  if (targets.length > 0) {
    await inboxes.accept({
      source: 'smtp',
      envelopeFrom,
      ip: session.remoteAddress || null,
      helo: session.hostNameAppearsAs || null,
      targets,
      content: mail.content(),
    });
  }
  await mail.drain();
  return targets.map(({ inbox }) => inbox.id);
}

async function record(received: Received, inboxIds: number[], options: ReceiverOptions): Promise<void> {
  const { mail, report, recipients, session } = received;
  const { keys, keep, log } = options;
  const facts = reportFacts(report, recipients, keys, new Date());
  const recorded = await options.record(facts);
  const mailbox = recipients.find((one) => one.kind === 'mailbox')?.name;
  if (mailbox && isForPeople(report))
    await keep({ mailbox, network: networkOf(session.remoteAddress), head: mail.head });
  log.info(
    {
      report: report.kind,
      ...(report.kind === 'none' ? { reason: report.reason } : {}),
      mailboxes: recipients.map((one) => (one.kind === 'mailbox' ? one.name : one.kind)),
      message_ids: facts.map(({ messageId }) => messageId),
      inbox_ids: inboxIds,
      recorded,
    },
    'mail received',
  );
}

/** The refusal of a message that could not be taken. */
function refusalFor(error: unknown, stream: SMTPServerDataStream, log: Logger): Error {
  if (error instanceof TinyPieces) return refusal(421, `4.7.0 ${error.message}`);
  if (stream.sizeExceeded) return refusal(552, '5.3.4 the message is too large');
  if (error instanceof AccountFull) return refusal(452, '4.2.2 this mailbox is full');
  log.warn({ err: error }, 'mail not accepted; its sender will retry');
  return later();
}

/** Creates the part of the listener that knows what mail is for. */
export function createReceiver(options: ReceiverOptions): Receiver {
  const { mailDomain, keys, inboxes, rates, log } = options;
  /** The admitted recipients. The server's envelope has the same objects. */
  const admitted = new WeakMap<SMTPServerAddress, InboundRecipient>();

  async function findInbox(address: string, session: SMTPServerSession): Promise<InboundRecipient> {
    const found = await inboxes.resolve(address).catch((error: unknown) => {
      log.warn({ err: error }, 'recipient not looked up; the sender will retry');
      throw later();
    });
    if (found.kind === 'refused') throw refusal(found.status, found.text);
    const network = networkOf(session.remoteAddress);
    if (!rates.admit({ network, sender: senderOf(session), inboxId: found.id }))
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

  async function take(mail: ArrivingMail, stream: SMTPServerDataStream, session: SMTPServerSession) {
    const envelopeFrom = senderOf(session);
    const recipients = recipientsOf(session);
    const report = await reportIn(mail, recipients, envelopeFrom);
    const received = { mail, report, recipients, envelopeFrom, session };
    const inboxIds = await store(received, options);
    if (stream.sizeExceeded) throw new TooLarge();
    await record(received, inboxIds, options);
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
        await take(mail, stream, session);
      } catch (error) {
        // The client reads the reply only after it has sent everything. If it disconnects, no reply is needed.
        await mail?.drain().catch(() => undefined);
        throw refusalFor(error, stream, log);
      }
    },
  };
}
