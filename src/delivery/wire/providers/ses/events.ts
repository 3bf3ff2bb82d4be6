/**
 * What Amazon SES publishes about messages: events of a configuration set
 * (https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html), and the older notifications
 * of an identity (https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html).
 */
import { z } from 'zod';
import { boundedText, plainFact, timeOf } from '../../adapters/callback-body.ts';
import type { ProviderFact } from '../../adapters/kind.ts';
import { judgeBounce, type JudgedBounce, serviceBounce } from '../../adapters/reported-bounce.ts';

/** The message tag that contains the reference. */
export const REFERENCE_TAG = 'carillon_reference';
const MAX_HEADERS = 200;

const time = z.string().optional();
const recipients = z
  .array(z.object({ status: boundedText.optional(), diagnosticCode: boundedText.optional() }))
  .default([]);

const event = z.object({
  eventType: z.string().optional(),
  notificationType: z.string().optional(),
  mail: z.object({
    timestamp: time,
    messageId: boundedText.optional(),
    tags: z.record(z.string(), z.array(z.string())).catch({}),
    headers: z.array(z.object({ name: z.string(), value: z.string() })).catch([]),
  }),
  bounce: z
    .object({
      bounceType: z.string(),
      bounceSubType: z.string().default(''),
      bouncedRecipients: recipients,
      timestamp: time,
    })
    .optional(),
  complaint: z
    .object({
      complaintFeedbackType: boundedText.nullish(),
      complaintSubType: boundedText.nullish(),
      timestamp: time,
    })
    .optional(),
  delivery: z.object({ smtpResponse: boundedText.optional(), timestamp: time }).optional(),
  deliveryDelay: z
    .object({ delayType: boundedText.optional(), delayedRecipients: recipients, timestamp: time })
    .optional(),
  reject: z.object({ reason: boundedText.optional() }).optional(),
  failure: z.object({ errorMessage: boundedText.optional() }).optional(),
});

type SesEvent = z.output<typeof event>;

/**
 * Events contain the message's tags. Notifications do not, but may contain its headers as Carillon wrote them, with the
 * reference in Message-ID.
 */
function referenceOf({ tags, headers }: SesEvent['mail']): string | null {
  const [tag] = tags[REFERENCE_TAG] ?? [];
  if (tag !== undefined) return tag;
  const header = headers.slice(0, MAX_HEADERS).find(({ name }) => name.toLowerCase() === 'message-id');
  return /^<?([^<>@\s]{1,100})@/.exec(header?.value ?? '')?.[1] ?? null;
}

const transientSubtypes = new Set(['MessageTooLarge', 'ContentRejected', 'AttachmentRejected']);

/** https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html#bounce-types */
function bounceOf({
  bounceType,
  bounceSubType,
  bouncedRecipients,
}: NonNullable<SesEvent['bounce']>): JudgedBounce {
  const [{ diagnosticCode, status } = {}] = bouncedRecipients;
  const text = diagnosticCode ?? `${bounceType} ${bounceSubType}`.trim();
  const permanent = bounceType === 'Permanent';
  if (permanent && bounceSubType === 'NoEmail') return serviceBounce('hard', 'no_such_mailbox', text);
  if (permanent && /Suppress/.test(bounceSubType)) return serviceBounce('hard', 'provider_suppressed', text);
  if (permanent && bounceSubType === 'UnsubscribedRecipient') {
    return serviceBounce('hard', 'provider_suppressed', text, false);
  }
  if (bounceSubType === 'MailboxFull') return serviceBounce('soft', 'mailbox_full', text);
  if (transientSubtypes.has(bounceSubType)) return serviceBounce('soft', 'other', text);
  return judgeBounce({ text: diagnosticCode ?? '', summary: text, status: status ?? null, permanent });
}

type Report = Pick<ProviderFact, 'type'> & Partial<ProviderFact> & { at: string | undefined };

function bounceReport(bounce: NonNullable<SesEvent['bounce']>): Report {
  const judged = bounceOf(bounce);
  return { type: 'bounced', ...judged, response: judged.bounce.diagnostic, at: bounce.timestamp };
}

/** A message that SES accepted but then did not send. */
function dropReport(reason: string, at: string | undefined): Report {
  return { type: 'bounced', ...serviceBounce('soft', 'other', reason), response: reason, at };
}

function delayReport({ deliveryDelay: delay }: SesEvent): Report {
  const response = delay?.delayedRecipients[0]?.diagnosticCode ?? delay?.delayType ?? null;
  return { type: 'deferred', response, at: delay?.timestamp };
}

/** Events that do not matter here, such as opens and clicks, are missing. */
const readers = new Map<string | undefined, (event: SesEvent) => Report | null>([
  ['Send', ({ mail }) => ({ type: 'accepted', at: mail.timestamp })],
  [
    'Delivery',
    ({ delivery }) => ({
      type: 'delivered',
      response: delivery?.smtpResponse ?? null,
      at: delivery?.timestamp,
    }),
  ],
  ['DeliveryDelay', delayReport],
  ['Bounce', ({ bounce }) => (bounce ? bounceReport(bounce) : null)],
  ['Complaint', ({ complaint }) => (complaint ? complaintReport(complaint) : null)],
  ['Reject', ({ reject, mail }) => dropReport(reject?.reason ?? 'rejected', mail.timestamp)],
  [
    'Rendering Failure',
    ({ failure, mail }) => dropReport(failure?.errorMessage ?? 'rendering failure', mail.timestamp),
  ],
]);

function complaintReport(complaint: NonNullable<SesEvent['complaint']>): Report | null {
  const { complaintFeedbackType: type, complaintSubType: subtype, timestamp: at } = complaint;
  // The recipient says that a message is not spam, or a server that it failed authentication.
  if (type === 'not-spam' || type === 'auth-failure') return null;
  // SES did not send the message, because the recipient had complained before.
  if (subtype === 'OnAccountSuppressionList') {
    const judged = serviceBounce('hard', 'provider_suppressed', 'Complaint OnAccountSuppressionList');
    return { type: 'bounced', ...judged, response: judged.bounce.diagnostic, at };
  }
  return { type: 'complained', response: type ?? null, suppresses: true, at };
}

/** Reads one event. @returns null if it is not about the outcome of a message, or cannot be read */
export function sesFact(item: unknown, now: Date): ProviderFact | null {
  const parsed = event.safeParse(item);
  if (!parsed.success) return null;
  const report = readers.get(parsed.data.eventType ?? parsed.data.notificationType)?.(parsed.data);
  if (!report) return null;
  const { at, ...fact } = report;
  return {
    ...plainFact,
    reference: referenceOf(parsed.data.mail),
    providerMessageId: parsed.data.mail.messageId ?? null,
    occurredAt: timeOf(at, now),
    ...fact,
  };
}
