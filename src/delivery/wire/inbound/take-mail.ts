import type { Logger } from 'pino';
import type { ArrivalRates } from './arrival-rates.ts';
import type { ArrivingMail } from './arriving-mail.ts';
import type { Inboxes, InboxTarget } from './inboxes.ts';
import type { NewOperatorMail } from './operator-mails.ts';
import type { InboundRecipient, MailKeys } from './recipients.ts';
import type { DeliveryFact } from '../../ledger/facts/delivery-fact.ts';
import type { ReferencedFact } from './letter-complaints.ts';
import type { RecordReport } from './record-reports.ts';
import { reportFacts } from './report-facts.ts';
import { isAutomaticReply, isFromMailServer, type MailReport, readReport } from './report.ts';

export interface TakeMailDeps {
  keys: MailKeys;
  record: RecordReport;
  /** Finds the messages of facts about letters; see {@link factsOfCopies}. */
  factsOfCopies: (facts: readonly ReferencedFact[]) => Promise<DeliveryFact[]>;
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

/** Reasons why a mail changes nothing that leave it to a person to read it. */
const forPeople = new Set(['no_report', 'unreadable', 'auto_reply']);

const isForPeople = (report: MailReport) => report.kind === 'none' && forPeople.has(report.reason);

type ReturnPath = Extract<Addressed, { kind: 'return_path' }>;

/** The return paths that a mail was sent to, if it is not a report that was understood. */
const unreadAt = ({ report, recipients }: Received): ReturnPath[] =>
  isForPeople(report) ? recipients.filter((one) => one.kind === 'return_path') : [];

/** One target for each inbox. */
function targetsOf(recipients: readonly Addressed[], answers: readonly InboxTarget[]): InboxTarget[] {
  const addressed = recipients.flatMap((one): InboxTarget[] =>
    one.kind === 'inbox'
      ? [{ inbox: one.inbox, recipient: one.address, answersMessageId: null, isReport: false }]
      : [],
  );
  const targets = new Map<number, InboxTarget>();
  // What was sent to a return path comes first: it names the message.
  for (const target of [...answers, ...addressed])
    if (!targets.has(target.inbox.id)) targets.set(target.inbox.id, target);
  return [...targets.values()];
}

/** The sender and the recipients of a mail. */
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
 * The inboxes of the messages at whose return paths a reply arrived, or a report that was not understood: it is never
 * taken for a bounce, because a warning would bounce what was delivered.
 * @throws TooManyMails
 */
async function answered(received: Received, { inboxes, rates }: TakeMailDeps): Promise<InboxTarget[]> {
  const { mail, envelopeFrom: sender, network, ip } = received;
  const targets: InboxTarget[] = [];
  for (const { message } of unreadAt(received)) {
    const inbox = await inboxes.ofMessage(message);
    if (!inbox) continue;
    const isReport = isFromMailServer({ head: mail.head, envelopeFrom: sender });
    if (!rates.admit({ network, ip, sender, inboxId: inbox.id })) throw new TooManyMails();
    // Not the return path itself, which would allow others to report bounces of the message.
    targets.push({ inbox, recipient: inbox.address, answersMessageId: message.messageId, isReport });
  }
  return targets;
}

/** Stores the message for the inboxes that it is for, and reads it to its end. */
async function store(received: Received, options: TakeMailDeps): Promise<InboxTarget[]> {
  const { mail, recipients, source, envelopeFrom, ip, helo, network } = received;
  const { inboxes, rates } = options;
  const targets = targetsOf(recipients, await answered(received, options));
  if (targets.length > 0) {
    await inboxes.accept({ source, envelopeFrom, ip, helo, targets, content: mail.content() });
    for (const { inbox } of targets) rates.count({ network, ip, sender: envelopeFrom, inboxId: inbox.id });
  }
  await mail.drain();
  return targets;
}

/**
 * Keeps a mail for the operator: one to a mailbox, and one to a return path that is for no inbox and would disappear.
 * Automatic replies are not kept, because each mailing brings many.
 * @param isUnclear whether the mail does not say which recipient of a letter complains
 */
async function keepForOperator(
  received: Received,
  targets: readonly InboxTarget[],
  isUnclear: boolean,
  { keep }: TakeMailDeps,
) {
  const { mail, report, recipients, network, envelopeFrom } = received;
  const mailbox = recipients.find((one) => one.kind === 'mailbox')?.name;
  if (mailbox && (isUnclear || isForPeople(report))) await keep({ mailbox, network, head: mail.head });
  const answers = new Set(targets.map(({ answersMessageId }) => answersMessageId));
  const homeless = unreadAt(received).find(({ message }) => !answers.has(message.messageId));
  if (!homeless || isAutomaticReply(report, { head: mail.head, envelopeFrom })) return;
  await keep({ mailbox: 'return_path', message: homeless.message, network, head: mail.head });
}

async function record(
  received: Received,
  targets: readonly InboxTarget[],
  options: TakeMailDeps,
): Promise<void> {
  const { report, recipients } = received;
  const { keys, log } = options;
  const reported = reportFacts(report, recipients, keys, new Date());
  const facts = await options.factsOfCopies(reported);
  const recorded = await options.record(facts);
  await keepForOperator(received, targets, facts.length < reported.length, options);
  log.info(
    {
      report: report.kind,
      ...(report.kind === 'none' ? { reason: report.reason } : {}),
      mailboxes: recipients.map((one) => (one.kind === 'mailbox' ? one.name : one.kind)),
      message_ids: facts.map(({ messageId }) => messageId),
      inbox_ids: targets.map(({ inbox }) => inbox.id),
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
  const targets = await store(received, deps);
  await record(received, targets, deps);
}
