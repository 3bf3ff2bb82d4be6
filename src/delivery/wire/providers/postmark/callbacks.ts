/** Webhooks of Postmark (https://postmarkapp.com/developer/webhooks/webhooks-overview). */
import { z } from 'zod';
import { boundedText, jsonOf, plainFact, reports, timeOf } from '../../adapters/callback-body.ts';
import type { Bounce, BounceSubtype } from '../../../terms/message.ts';
import type { ProviderCallbacks, ProviderFact } from '../../adapters/kind.ts';
import { judgeBounce, type JudgedBounce, serviceBounce } from '../../adapters/reported-bounce.ts';
import type { PostmarkSettings } from './api.ts';

/** The field of the metadata that contains the reference. Postmark's limit is 20 characters. */
export const REFERENCE_FIELD = 'carillon_reference';

const optionalText = boundedText.optional().catch(undefined);

const event = z.object({
  RecordType: z.string(),
  Type: optionalText,
  MessageID: optionalText,
  Metadata: z.object({ [REFERENCE_FIELD]: optionalText }).catch({}),
  Description: optionalText,
  Details: optionalText,
  BouncedAt: optionalText,
  DeliveredAt: optionalText,
  ChangedAt: optionalText,
  SuppressSending: z.boolean().optional().catch(undefined),
  SuppressionReason: optionalText,
});

type PostmarkEvent = z.output<typeof event>;
type BounceKind = [type: Bounce['type'], subtype: BounceSubtype, suppresses?: boolean];
type Report = Pick<ProviderFact, 'type'> & Partial<ProviderFact>;

const complained: Report = { type: 'complained', suppresses: true };

/**
 * Postmark documents a type by examples only, so the reason is taken from the details, which quote the server's reply.
 */
interface Words {
  details: string;
  description: string;
}

const byCodes = (permanent: boolean) => (words: Words) =>
  judgeBounce({ text: words.details, summary: words.description, status: null, permanent });

const by = (...[type, subtype, suppresses]: BounceKind) => {
  return (words: Words) => serviceBounce(type, subtype, words.details || words.description, suppresses);
};

/** A verdict on the message or its sender. It never suppresses the address. */
const blocked = by('soft', 'blocked');
const other = by('soft', 'other');

/**
 * Bounces by type; https://postmarkapp.com/developer/api/bounce-api#bounce-types. Automatic replies (AutoResponder,
 * AddressChange, ChallengeVerification and the like) are missing: the message has arrived.
 */
const bounceTypes = new Map<string | undefined, (words: Words) => JudgedBounce>([
  ['HardBounce', byCodes(true)],
  ['SoftBounce', byCodes(false)],
  ['Unknown', byCodes(false)],
  ['BadEmailAddress', by('hard', 'bad_address')],
  ['ManuallyDeactivated', by('hard', 'provider_suppressed', false)],
  ['SpamNotification', blocked],
  ['Blocked', blocked],
  ['DMARCPolicy', blocked],
  ['VirusNotification', blocked],
  ['Unconfirmed', other],
  ['SMTPApiError', other],
  ['TemplateRenderingFailed', other],
]);

function bounceReport({ Type: type, Details: details = '', Description: description = '' }: PostmarkEvent) {
  if (type === 'SpamComplaint') return complained;
  if (type === 'Transient' || type === 'DnsError') {
    return { type: 'deferred', response: details || description } as const;
  }
  const judged = bounceTypes.get(type)?.({ details, description });
  return judged ? ({ type: 'bounced', ...judged, response: judged.bounce.diagnostic } as const) : null;
}

/** Events that do not matter here, such as opens and clicks, are missing. */
const readers = new Map<string, (event: PostmarkEvent) => Report | null>([
  ['Delivery', ({ Details }) => ({ type: 'delivered', response: Details ?? null })],
  ['Bounce', bounceReport],
  ['SpamComplaint', () => complained],
  // After a hard bounce, the `Bounce` event has more details. Manual changes are not about a message.
  [
    'SubscriptionChange',
    ({ SuppressSending: suppressed, SuppressionReason: reason }) =>
      suppressed && reason === 'SpamComplaint' ? complained : null,
  ],
]);

function factOf(item: unknown, now: Date): ProviderFact | null {
  const parsed = event.safeParse(item);
  if (!parsed.success) return null;
  const { data } = parsed;
  const report = readers.get(data.RecordType)?.(data);
  if (!report) return null;
  return {
    ...plainFact,
    reference: data.Metadata[REFERENCE_FIELD] ?? null,
    providerMessageId: data.MessageID ?? null,
    occurredAt: timeOf(data.BouncedAt ?? data.DeliveredAt ?? data.ChangedAt, now),
    ...report,
  };
}

/** Postmark signs nothing: the secret token in the URL is the only proof. It sends one event at a time. */
export const postmarkCallbacks: ProviderCallbacks<PostmarkSettings> = {
  parseCallback({ body, now }) {
    const item = jsonOf(body);
    if (typeof item !== 'object' || item === null || Array.isArray(item)) {
      return Promise.resolve({ kind: 'refused', reason: 'not an event of Postmark' });
    }
    return Promise.resolve(reports([item], (each) => factOf(each, now)));
  },
};
