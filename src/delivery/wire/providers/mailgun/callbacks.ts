/**
 * Webhooks of Mailgun. Each carries one event
 * (https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/webhook-payloads).
 */
import { z } from 'zod';
import { clipText } from '../../../terms/bounces.ts';
import { jsonOf, timeOf } from '../../adapters/callback-body.ts';
import {
  factOf,
  genuineCallback,
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
import { judgeBounce } from '../../adapters/reported-bounce.ts';
import type { MailgunSettings } from './api.ts';

/** The name of the variable that returns the reference. */
export const REFERENCE_VARIABLE = 'carillon';

/**
 * Mailgun retries a webhook for eight hours, and does not document whether it signs each retry again. Each token is
 * accepted once, so a captured request cannot be replayed in that time either.
 */
const MAX_AGE_MS = 12 * 3_600_000;
const MAX_AHEAD_MS = 5 * 60_000;
const TOKEN = /^[\x21-\x7e]{20,200}$/;

const signatureSchema = z.object({
  timestamp: z.union([z.string().regex(/^\d{1,12}$/), z.int().nonnegative()]),
  token: z.string().regex(TOKEN),
  signature: z.string().regex(/^[0-9a-f]{64}$/i),
});

const text = z.string().max(10_000).catch('');

const eventSchema = z.object({
  event: z.string().max(100),
  timestamp: z.number().catch(NaN),
  severity: text.optional(),
  reason: text.optional(),
  'user-variables': z
    .looseObject({ [REFERENCE_VARIABLE]: z.string().max(200).nullable().catch(null) })
    .catch({
      [REFERENCE_VARIABLE]: null,
    }),
  message: z
    .object({ headers: z.object({ 'message-id': z.string().max(1_000) }) })
    .nullable()
    .catch(null),
  'delivery-status': z
    .object({
      code: z.number().nullable().catch(null),
      'enhanced-code': text.optional(),
      message: text.optional(),
      description: text.optional(),
    })
    .catch({ code: null }),
  reject: z.object({ reason: text }).nullable().optional().catch(null),
});

type MailgunEvent = z.output<typeof eventSchema>;

/** Checks the signature, which covers the time and a token, but not the event. @returns the token, or what is wrong */
function checkSignature(given: unknown, key: string, now: Date): { token: string } | { problem: string } {
  const parsed = signatureSchema.safeParse(given);
  if (!parsed.success) return { problem: 'no signature' };
  const { token, signature } = parsed.data;
  const timestamp = String(parsed.data.timestamp);
  if (!sameDigest(hmacOf('sha256', key, timestamp, token), Buffer.from(signature, 'hex'))) {
    return { problem: 'wrong signature' };
  }
  const age = now.getTime() - Number(timestamp) * 1_000;
  return age > MAX_AGE_MS || age < -MAX_AHEAD_MS ? { problem: 'the signature is too old' } : { token };
}

type Meaning = Pick<ProviderFact, 'type' | 'bounce' | 'failure' | 'suppresses'>;

/** The outcome if Mailgun itself decided on the failure, without a reply from the recipient's server; else null. */
function ownVerdict(reason: string, words: string): Meaning | null {
  const plain = { bounce: null, failure: null, suppresses: false };
  switch (reason) {
    case 'suppress-bounce':
    case 'suppress-complaint': {
      const bounce = { type: 'hard', subtype: 'provider_suppressed', diagnostic: words } as const;
      return { type: 'bounced', ...plain, bounce };
    }
    case 'suppress-unsubscribe':
      return { type: 'failed', ...plain, failure: { code: 'rejected', message: words } };
    // Mailgun gave up after eight hours of temporary refusals.
    case 'old':
      return { type: 'bounced', ...plain, bounce: { type: 'soft', subtype: 'expired', diagnostic: words } };
    default:
      return null;
  }
}

function failureOf({ reason = '', 'delivery-status': status }: MailgunEvent): Meaning {
  const words = clipText([status.message, status.description, reason].find(Boolean) ?? '');
  const own = ownVerdict(reason, words);
  if (own) return own;
  const { code, 'enhanced-code': enhanced = null } = status;
  const text = code !== null && code >= 400 && code <= 599 ? `${code} ${words}` : words;
  const { bounce, suppresses } = judgeBounce({ text, status: enhanced, permanent: reason === 'bounce' });
  return { type: 'bounced', bounce, failure: null, suppresses };
}

/** Translates an event. null: it is not about the outcome of a message. */
function translate(event: MailgunEvent): Meaning | null {
  const plain = { bounce: null, failure: null, suppresses: false };
  switch (event.event) {
    case 'accepted':
      return { type: 'accepted', ...plain };
    case 'delivered':
      return { type: 'delivered', ...plain };
    case 'complained':
      return { type: 'complained', ...plain, suppresses: true };
    case 'rejected':
      return {
        type: 'failed',
        ...plain,
        failure: { code: 'rejected', message: clipText(event.reject?.reason ?? '') },
      };
    case 'failed':
      return event.severity === 'temporary' ? { type: 'deferred', ...plain } : failureOf(event);
    default:
      return null;
  }
}

function responseOf({ 'delivery-status': status }: MailgunEvent): string {
  const words = status.message || status.description || '';
  return [status.code === null ? '' : String(status.code), words].filter((part) => part !== '').join(' ');
}

function parse(request: CallbackRequest, { webhook_signing_key: key }: MailgunSettings): CallbackResult {
  const body = jsonOf(request.body);
  if (typeof body !== 'object' || body === null) return refusedCallback('not JSON');
  const { signature, 'event-data': data } = body as Record<string, unknown>;
  const checked = checkSignature(signature, key, request.now);
  if ('problem' in checked) return refusedCallback(checked.problem);
  const onceTokens = [checked.token];
  const parsed = eventSchema.safeParse(data);
  const meaning = parsed.success ? translate(parsed.data) : null;
  if (!parsed.success || meaning === null) return genuineCallback({ ignored: 1, onceTokens });
  const event = parsed.data;
  const fact = factOf({
    reference: event['user-variables'][REFERENCE_VARIABLE],
    providerMessageId: event.message?.headers['message-id'] ?? null,
    occurredAt: timeOf(event.timestamp, request.now),
    response: responseOf(event),
    ...meaning,
  });
  return genuineCallback({ facts: [fact], onceTokens });
}

export const mailgunCallbacks: ProviderCallbacks<MailgunSettings> = {
  parseCallback: (request, settings) => Promise.resolve(parse(request, settings)),
};
