import { parseMessageReference, type ReferencedMessage } from '../addresses/reference.ts';
import { parseReturnPath } from '../addresses/return-path.ts';
import { diagnosticOf, reportedBounce } from '../bounces.ts';
import type { DeliveryFact } from '../facts.ts';
import type { InboundRecipient, MailKeys } from './recipients.ts';
import type { MailReport } from './report.ts';

/** The first reference that is genuine. All others could be written by anyone. */
function genuine(references: readonly string[], keys: MailKeys): ReferencedMessage | null {
  for (const text of references) {
    const message = parseMessageReference(keys.references, text) ?? parseReturnPath(keys.returnPaths, text);
    if (message !== null) return message;
  }
  return null;
}

type Outcome = Pick<DeliveryFact, 'type' | 'response' | 'bounce' | 'suppresses'>;

function outcomeOf(report: Exclude<MailReport, { kind: 'none' }>): Outcome {
  switch (report.kind) {
    case 'failed': {
      const { refusal } = report;
      return { type: 'bounced', response: diagnosticOf(refusal), ...reportedBounce(refusal) };
    }
    case 'delivered':
      return { type: 'delivered', response: report.response || null, bounce: null, suppresses: false };
    case 'complaint':
      return { type: 'complained', response: null, bounce: null, suppresses: true };
  }
}

/**
 * Returns what a report says of our messages. Only an address or a reference with a MAC of ours names a message; a mail
 * to a genuine return path is about its message, whatever its content claims.
 */
export function reportFacts(
  report: MailReport,
  recipients: readonly InboundRecipient[],
  keys: MailKeys,
  now: Date,
): DeliveryFact[] {
  if (report.kind === 'none') return [];
  const outcome = outcomeOf(report);
  const named = recipients.map((recipient) =>
    recipient.kind === 'return_path' ? recipient.message : genuine(report.references, keys),
  );
  const messages = new Map(named.flatMap((message) => (message ? [[message.messageId, message]] : [])));
  return [...messages.values()].map(({ accountId, messageId }) => ({
    accountId,
    messageId,
    source: { kind: 'mail' },
    occurredAt: now,
    providerMessageId: null,
    failure: null,
    ...outcome,
  }));
}
