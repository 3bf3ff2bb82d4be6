/**
 * Webhooks of Resend. Each carries one event (https://resend.com/docs/webhooks/event-types), signed as Standard Webhooks
 * are (https://docs.svix.com/receiving/verifying-payloads/how-manual), with headers of Svix.
 */
import { z } from 'zod';
import { clipText } from '../../../terms/bounces.ts';
import { jsonOf, timeOf } from '../../adapters/callback-body.ts';
import {
  factOf,
  genuineCallback,
  headerOf,
  hmacOf,
  refusedCallback,
  sameDigest,
} from '../../adapters/callback-request.ts';
import type {
  CallbackRequest,
  CallbackResult,
  ProviderCallbacks,
  ProviderFact,
} from '../../adapters/kind.ts';
import { type JudgedBounce, judgeBounce, serviceBounce } from '../../adapters/reported-bounce.ts';
import type { ResendSettings } from './api.ts';

/** The name of the tag that returns the reference. */
export const REFERENCE_TAG = 'carillon';

const TOLERANCE_MS = 5 * 60_000;
/** Two while a secret is being rotated. */
const MAX_SIGNATURES = 10;

const text = z.string().max(10_000).catch('');

const tagList = z.array(z.object({ name: z.string(), value: z.string() })).max(100);

const eventSchema = z.object({
  type: z.string().max(100),
  created_at: z.string().max(100).catch(''),
  data: z.object({
    email_id: z.string().max(200).nullable().catch(null),
    tags: z
      .union([
        z.record(z.string(), z.unknown()),
        tagList.transform((tags) => Object.fromEntries(tags.map((tag) => [tag.name, tag.value]))),
      ])
      .catch({}),
    bounce: z
      .object({
        message: text,
        type: text,
        subType: text,
        diagnosticCode: z.array(z.string().max(10_000)).max(100).catch([]),
      })
      .nullable()
      .catch(null),
    failed: z.object({ reason: text }).nullable().catch(null),
    suppressed: z.object({ message: text }).nullable().catch(null),
  }),
});

type ResendData = z.output<typeof eventSchema>['data'];

/** Checks the signature, which covers the id, the time and the body. @returns what is wrong */
function signatureProblem(request: CallbackRequest, secret: string): string | null {
  const id = headerOf(request, 'svix-id');
  const timestamp = headerOf(request, 'svix-timestamp');
  const signatures = headerOf(request, 'svix-signature');
  if (id === null || timestamp === null || signatures === null || !/^\d{1,12}$/.test(timestamp)) {
    return 'no signature';
  }
  if (Math.abs(request.now.getTime() - Number(timestamp) * 1_000) > TOLERANCE_MS)
    return 'the signature is too old';
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = hmacOf('sha256', key, `${id}.${timestamp}.`, request.body);
  const genuine = signatures
    .split(' ', MAX_SIGNATURES)
    .some((each) => each.startsWith('v1,') && sameDigest(expected, Buffer.from(each.slice(3), 'base64')));
  return genuine ? null : 'wrong signature';
}

/** Translates a bounce. Resend passes on the classification of Amazon SES and, since 2026, the server's own reply. */
function bounceOf({ bounce }: ResendData): JudgedBounce {
  const { message, type, subType, diagnosticCode } = bounce ?? {
    message: '',
    type: '',
    subType: '',
    diagnosticCode: [],
  };
  if (/suppress/i.test(subType) || /\bsuppression list\b/i.test(message)) {
    return serviceBounce('hard', 'provider_suppressed', message, false);
  }
  const permanent = type === 'Permanent' || (type === '' && /\bhard bounce\b/i.test(message));
  const [words] = diagnosticCode;
  if (words !== undefined) return judgeBounce({ text: words, status: null, permanent });
  if (subType === 'MailboxFull') return serviceBounce('soft', 'mailbox_full', message);
  if (!permanent) return serviceBounce('soft', 'other', message, false);
  return serviceBounce('hard', subType === 'NoEmail' ? 'no_such_mailbox' : 'other', message);
}

type Meaning = Pick<ProviderFact, 'type'> & Partial<ProviderFact>;

/** Translates an event. null: it is not about the outcome of a message. */
function translate(type: string, data: ResendData): Meaning | null {
  switch (type) {
    case 'email.sent':
      return { type: 'accepted' };
    case 'email.delivered':
      return { type: 'delivered' };
    case 'email.delivery_delayed':
      return { type: 'deferred' };
    case 'email.complained':
      return { type: 'complained', suppresses: true };
    case 'email.bounced': {
      const judged = bounceOf(data);
      return { type: 'bounced', ...judged, response: judged.bounce.diagnostic };
    }
    case 'email.suppressed':
      return {
        type: 'bounced',
        ...serviceBounce('hard', 'provider_suppressed', data.suppressed?.message ?? '', false),
      };
    case 'email.failed':
      return {
        type: 'failed',
        failure: { code: 'provider_error', message: clipText(data.failed?.reason ?? '') },
      };
    default:
      return null;
  }
}

function parse(request: CallbackRequest, { webhook_secret: secret }: ResendSettings): CallbackResult {
  const problem = signatureProblem(request, secret);
  if (problem !== null) return refusedCallback(problem);
  const parsed = eventSchema.safeParse(jsonOf(request.body));
  const meaning = parsed.success ? translate(parsed.data.type, parsed.data.data) : null;
  if (!parsed.success || meaning === null) return genuineCallback({ ignored: 1 });
  const { created_at: createdAt, data } = parsed.data;
  const reference = Object.hasOwn(data.tags, REFERENCE_TAG) ? data.tags[REFERENCE_TAG] : null;
  const fact = factOf({
    reference: typeof reference === 'string' ? reference : null,
    providerMessageId: data.email_id,
    occurredAt: timeOf(createdAt, request.now),
    ...meaning,
  });
  return genuineCallback({ facts: [fact] });
}

export const resendCallbacks: ProviderCallbacks<ResendSettings> = {
  parseCallback: (request, settings) => Promise.resolve(parse(request, settings)),
};
