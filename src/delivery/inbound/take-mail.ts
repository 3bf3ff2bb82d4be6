import type { Logger } from 'pino';
import type { ArrivalRates } from './arrival-rates.ts';
import type { ArrivingMail } from './arriving-mail.ts';
import type { Inboxes, InboxTarget } from './inboxes.ts';
import type { NewOperatorMail } from './operator-mails.ts';
import type { InboundRecipient, MailKeys } from './recipients.ts';
import type { RecordReport } from './record-reports.ts';
import { reportFacts } from './report-facts.ts';
import { isFromMailServer, type MailReport, readReport } from './report.ts';

export interface TakeMailDeps {
  keys: MailKeys;
  record: RecordReport;
  /** Stores a mail for the operator. */
  keep: (mail: NewOperatorMail) => Promise<void>;
  inboxes: Inboxes;
  /** Limits the mails to inboxes. */
  rates: ArrivalRates;
  log: Logger;
}

/** A sender or a network has sent too many mails to inboxes. */
export class TooManyMails extends Error {
  constructor() {
    super('too many mails; try again later');
  }
}

/** A recipient, with the address from `RCPT TO`. */
export type Addressed = InboundRecipient & { address: string };

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

/** Who sent a mail, and to whom. */
export interface Envelope {
  source: 'smtp' | 'http';
  /** Empty for the null return path. */
  envelopeFrom: string;
  /** Null: not known. */
  ip: string | null;
  helo: string | null;
  /** The network of the client, or the account that delivers the mail: their mails are limited. */
  network: string;
  recipients: Addressed[];
}

interface Received extends Envelope {
  mail: ArrivingMail;
  report: MailReport;
}

/** Reads what a message reports. Inboxes receive no reports, so a message to them alone is not read here. */
async function reportIn({ head }: ArrivingMail, { recipients, envelopeFrom }: Envelope): Promise<MailReport> {
  if (recipients.every(({ kind }) => kind === 'inbox')) return { kind: 'none', reason: 'no_report' };
  const feedbackLoop = recipients.some((one) => one.kind === 'mailbox' && one.name === 'fbl');
  return readReport({ head, envelopeFrom, feedbackLoop });
}

/**
 * The inboxes of the messages that a reply to their return paths answers. Bounces and other reports are no replies.
 * @throws TooManyMails
 */
async function answered(received: Received, { inboxes, rates }: TakeMailDeps): Promise<InboxTarget[]> {
  const { mail, report, recipients, envelopeFrom: sender, network, ip } = received;
  const messages = recipients.flatMap((one) => (one.kind === 'return_path' ? [one.message] : []));
  if (messages.length === 0 || !isForPeople(report)) return [];
  if (isFromMailServer({ head: mail.head, envelopeFrom: sender })) return [];
  const targets: InboxTarget[] = [];
  for (const message of messages) {
    const inbox = await inboxes.ofMessage(message);
    if (!inbox) continue;
    if (!rates.admit({ network, ip, sender, inboxId: inbox.id })) throw new TooManyMails();
    // Not the return path itself, which would allow others to report bounces of the message.
    targets.push({ inbox, recipient: inbox.address, answersMessageId: message.messageId });
  }
  return targets;
}

/** Stores the message for the inboxes that it is for, and reads it to its end. @returns their ids */
async function store(received: Received, options: TakeMailDeps): Promise<number[]> {
  const { mail, recipients, source, envelopeFrom, ip, helo, network } = received;
  const { inboxes, rates } = options;
  const targets = targetsOf(recipients, await answered(received, options));
  if (targets.length > 0) {
    await inboxes.accept({ source, envelopeFrom, ip, helo, targets, content: mail.content() });
    for (const { inbox } of targets) rates.count({ network, ip, sender: envelopeFrom, inboxId: inbox.id });
  }
  await mail.drain();
  return targets.map(({ inbox }) => inbox.id);
}

async function record(received: Received, inboxIds: number[], options: TakeMailDeps): Promise<void> {
  const { mail, report, recipients, network } = received;
  const { keys, keep, log } = options;
  const facts = reportFacts(report, recipients, keys, new Date());
  const recorded = await options.record(facts);
  const mailbox = recipients.find((one) => one.kind === 'mailbox')?.name;
  if (mailbox && isForPeople(report)) await keep({ mailbox, network, head: mail.head });
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

/**
 * Takes a message: stores it for its inboxes, and records what it reports. Once this resolves, all of it is committed.
 * @throws AccountFull; TooManyMails; the errors of the message, the storage and the database
 */
export async function takeMail(mail: ArrivingMail, envelope: Envelope, deps: TakeMailDeps): Promise<void> {
  const report = await reportIn(mail, envelope);
  const received = { ...envelope, mail, report };
  const inboxIds = await store(received, deps);
  await record(received, inboxIds, deps);
}
