/** The Event Webhook of SendGrid (https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event). */
import { verify } from 'node:crypto';
import { z } from 'zod';
import { boundedText, jsonOf, plainFact, reports, timeOf } from '../../adapters/callback-body.ts';
import type {
  CallbackRequest,
  CallbackResult,
  ProviderCallbacks,
  ProviderFact,
} from '../../adapters/kind.ts';
import { judgeBounce, type JudgedBounce, serviceBounce } from '../../adapters/reported-bounce.ts';
import { type SendgridSettings, verificationKey } from './api.ts';

/** The custom argument that contains the reference. */
export const REFERENCE_ARG = 'carillon_reference';

const optionalText = boundedText.optional().catch(undefined);

const event = z.object({
  event: z.string(),
  timestamp: z.number().optional().catch(undefined),
  [REFERENCE_ARG]: optionalText,
  sg_message_id: optionalText,
  response: optionalText,
  reason: optionalText,
  status: optionalText,
  type: optionalText,
});

type SendgridEvent = z.output<typeof event>;

/** `type`: `bounce` is permanent, `blocked` is not the recipient's fault, `expired` was deferred for 72 hours. */
function bounceOf({ reason, status, type }: SendgridEvent): JudgedBounce {
  const text = reason ?? '';
  const judged = judgeBounce({ text, status: status ?? null, permanent: type === 'bounce' });
  const { bounce } = judged;
  if (type === 'bounce') return judged;
  const subtype =
    bounce.subtype === 'mailbox_full' ? 'mailbox_full' : type === 'expired' ? 'expired' : 'blocked';
  const counts = type === 'expired' && judged.suppresses;
  return { bounce: { ...bounce, type: 'soft', subtype }, suppresses: counts };
}

/** Why SendGrid dropped a message; https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event#dropped */
function dropOf(reason: string): JudgedBounce {
  switch (reason.toLowerCase()) {
    case 'bounced address':
    case 'spam reporting address':
      return serviceBounce('hard', 'provider_suppressed', reason);
    case 'invalid':
      return serviceBounce('hard', 'bad_address', reason);
    case 'unsubscribed address':
      return serviceBounce('hard', 'provider_suppressed', reason, false);
    default:
      return serviceBounce('soft', 'other', reason);
  }
}

type Report = Pick<ProviderFact, 'type'> & Partial<ProviderFact>;

function bouncedReport(judged: JudgedBounce): Report {
  return { type: 'bounced', ...judged, response: judged.bounce.diagnostic };
}

/** Events that do not matter here, such as opens and clicks, are missing. */
const readers = new Map<string, (event: SendgridEvent) => Report>([
  ['processed', () => ({ type: 'accepted' })],
  ['delivered', ({ response }) => ({ type: 'delivered', response: response ?? null })],
  ['deferred', ({ response, reason }) => ({ type: 'deferred', response: response ?? reason ?? null })],
  ['bounce', (given) => bouncedReport(bounceOf(given))],
  ['dropped', ({ reason }) => bouncedReport(dropOf(reason ?? ''))],
  ['spamreport', () => ({ type: 'complained', suppresses: true })],
]);

/** The response to the hand-over has only the first part of the id. */
function messageIdOf(id: string | undefined): string | null {
  return id === undefined ? null : (/^(.+?)\.(?:filter|recv)/.exec(id)?.[1] ?? id);
}

function factOf(item: unknown, now: Date): ProviderFact | null {
  const parsed = event.safeParse(item);
  if (!parsed.success) return null;
  const report = readers.get(parsed.data.event)?.(parsed.data);
  if (!report) return null;
  return {
    ...plainFact,
    reference: parsed.data[REFERENCE_ARG] ?? null,
    providerMessageId: messageIdOf(parsed.data.sg_message_id),
    occurredAt: timeOf(parsed.data.timestamp, now),
    ...report,
  };
}

/**
 * The signature covers the timestamp and the body
 * (https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features).
 */
function isSigned({ headers, body }: CallbackRequest, key: string): boolean {
  const signature = headers['x-twilio-email-event-webhook-signature'];
  const timestamp = headers['x-twilio-email-event-webhook-timestamp'];
  if (typeof signature !== 'string' || typeof timestamp !== 'string') return false;
  const signed = Buffer.concat([Buffer.from(timestamp), body]);
  return verify('sha256', signed, verificationKey(key), Buffer.from(signature, 'base64'));
}

export const sendgridCallbacks: ProviderCallbacks<SendgridSettings> = {
  parseCallback(request, { verification_key: key }) {
    const read = (): CallbackResult => {
      if (key === undefined) return { kind: 'refused', reason: 'the provider has no verification_key' };
      if (!isSigned(request, key)) return { kind: 'refused', reason: 'wrong signature' };
      const items = jsonOf(request.body);
      if (!Array.isArray(items)) return { kind: 'refused', reason: 'not a list of events' };
      return reports(items, (item) => factOf(item, request.now));
    };
    return Promise.resolve(read());
  },
};
