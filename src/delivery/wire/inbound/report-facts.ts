import { parseMessageReference, type ReferencedMessage } from '../../terms/addresses/reference.ts';
import { parseReturnPath } from '../../terms/addresses/return-path.ts';
import { diagnosticOf, reportedBounce } from '../../terms/bounces.ts';
import type { DeliveryFact } from '../../ledger/facts/delivery-fact.ts';
import type { ReferencedFact } from './letter-complaints.ts';
import type { InboundRecipient, MailKeys } from './recipients.ts';
import type { MailReport } from './report.ts';

/** A message, and whether only it can be meant: all copies of a letter have one Message-ID. */
type NamedMessage = ReferencedMessage & { exact: boolean };

/**
 * The first genuine reference, which is a return path if there is one: each copy of a letter has its own. Anyone can
 * write any other text.
 */
function genuine(references: readonly string[], keys: MailKeys): NamedMessage | null {
  for (const text of references) {
    const message = parseReturnPath(keys.returnPaths, text);
    if (message !== null) return { ...message, exact: true };
  }
  for (const text of references) {
    const message = parseMessageReference(keys.references, text);
    if (message !== null) return { ...message, exact: false };
  }
  return null;
}

/**
 * The message that a report to this recipient is about. The reference is part of the Message-ID, so everyone who sees a
 * reply or an archived copy knows it. Therefore only a mail to the return path, which only servers and the recipient
 * see, can report a delivery or a bounce. For complaints, a reference is enough, because feedback loops contain nothing
 * else.
 */
function messageFor(
  recipient: InboundRecipient,
  report: Exclude<MailReport, { kind: 'none' }>,
  keys: MailKeys,
): NamedMessage | null {
  if (recipient.kind === 'return_path') return { ...recipient.message, exact: true };
  if (recipient.kind === 'inbox' || report.kind !== 'complaint' || recipient.name === 'postmaster')
    return null;
  return genuine(report.references, keys);
}

type Outcome = Pick<DeliveryFact, 'type' | 'response' | 'bounce' | 'suppresses' | 'complainant'>;

function outcomeOf(report: Exclude<MailReport, { kind: 'none' }>): Outcome {
  switch (report.kind) {
    case 'failed': {
      const { refusal } = report;
      return { type: 'bounced', response: diagnosticOf(refusal), ...reportedBounce(refusal) };
    }
    case 'delivered':
      return { type: 'delivered', response: report.response || null, bounce: null, suppresses: false };
    case 'complaint':
      return {
        response: null,
        bounce: null,
        suppresses: true,
        type: 'complained',
        complainant: report.recipient,
      };
  }
}

/**
 * Returns what a report says about our messages. Only an address or a reference with a valid MAC identifies a message;
 * a mail to a genuine return path is about the message of that path, whatever its content claims. A complaint
 * identified only by a reference does not count against the account.
 */
export function reportFacts(
  report: MailReport,
  recipients: readonly InboundRecipient[],
  keys: MailKeys,
  now: Date,
): ReferencedFact[] {
  if (report.kind === 'none') return [];
  const outcome = outcomeOf(report);
  // If a mail was sent to both, the return path decides.
  const ordered = recipients.toSorted((one, other) => one.kind.localeCompare(other.kind));
  const named = ordered.flatMap((recipient) => {
    const message = messageFor(recipient, report, keys);
    return message ? [{ ...message, atReturnPath: recipient.kind === 'return_path' }] : [];
  });
  const messages = new Map(named.map((message) => [message.messageId, message]));
  return [...messages.values()].map(({ accountId, messageId, exact, atReturnPath }) => ({
    accountId,
    messageId,
    source: { kind: 'mail' },
    occurredAt: now,
    providerMessageId: null,
    failure: null,
    ...outcome,
    ...(outcome.type === 'complained' && !atReturnPath
      ? { complainant: null, ...(exact ? {} : { namedRecipient: outcome.complainant ?? null }) }
      : {}),
  }));
}
