/**
 * Webhooks of Twilio: the status of sent messages, and messages that recipients sent
 * (https://www.twilio.com/docs/messaging/guides/track-outbound-message-status,
 * https://www.twilio.com/docs/messaging/guides/webhook-request).
 */
import { createHash } from 'node:crypto';
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
  InboundSms,
  ProviderCallbacks,
  ProviderFact,
} from '../../adapters/kind.ts';
import { failedSms, type SmsVerdict } from '../../adapters/sms-failure.ts';
import { type TwilioSettings, twilioVerdicts } from './api.ts';

/** The parameter of the callback URL that returns the reference. */
export const REFERENCE_PARAMETER = 'reference';

/** Maximum number of parameters; Twilio sends about thirty. */
const MAX_PARAMETERS = 200;
const MAX_ID = 100;
const MAX_TEXT = 2_000;

/** Twilio expects instructions for its reply to the sender. These are empty: no reply. */
const NO_ANSWER = {
  contentType: 'text/xml',
  body: '<?xml version="1.0" encoding="UTF-8"?><Response></Response>',
};

const unknownFailure: SmsVerdict = { kind: 'failed', code: 'provider_error' };

/** The URLs that Twilio may have signed: some of its requests include the standard port, others omit it. */
function signedUrls(url: string): string[] {
  const parsed = URL.parse(url);
  if (!parsed) return [url];
  const { protocol, host, hostname, port, pathname, search } = parsed;
  const origin = `${protocol}//${host}`;
  const rest = url.startsWith(origin) ? url.slice(origin.length) : `${pathname}${search}`;
  const standard = protocol === 'https:' ? '443' : '80';
  return [url, `${protocol}//${hostname}${rest}`, `${protocol}//${hostname}:${port || standard}${rest}`];
}

const order = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);

/** The parameters as they are signed: sorted by name and value, without separators. Duplicates count once. */
function signedParameters(form: URLSearchParams): string {
  const pairs = [...form].sort(([a, x], [b, y]) => order(a, b) || order(x, y));
  const distinct = pairs.filter(
    ([name, value], n) => name !== pairs[n - 1]?.[0] || value !== pairs[n - 1]?.[1],
  );
  return distinct.map((pair) => pair.join('')).join('');
}

/** Whether the URL contains the digest of the body, for bodies that are not a form. */
function hasBodyDigest({ url, body }: CallbackRequest): boolean {
  const digest = URL.parse(url)?.searchParams.get('bodySHA256') ?? '';
  return sameDigest(createHash('sha256').update(body).digest(), Buffer.from(digest, 'hex'));
}

/**
 * Checks X-Twilio-Signature (https://www.twilio.com/docs/usage/security#validating-requests): an HMAC of the URL and the
 * parameters of the form, or of the URL alone, which then contains the digest of the body.
 */
function isGenuine(request: CallbackRequest, form: URLSearchParams | null, token: string): boolean {
  const signature = headerOf(request, 'x-twilio-signature');
  if (signature === null || (!form && !hasBodyDigest(request))) return false;
  const parameters = form ? signedParameters(form) : '';
  const given = Buffer.from(signature, 'base64');
  return signedUrls(request.url).some((url) => sameDigest(hmacOf('sha1', token, url, parameters), given));
}

const clean = (text: string | null, max: number) => (text ?? '').replaceAll('\0', '').slice(0, max);

function readForm({ headers, body }: CallbackRequest): URLSearchParams | null {
  const type = headers['content-type'];
  if (typeof type !== 'string' || !type.startsWith('application/x-www-form-urlencoded')) return null;
  const form = new URLSearchParams(body.toString('utf8'));
  return form.size <= MAX_PARAMETERS ? form : null;
}

type Meaning = Pick<ProviderFact, 'type'> & Partial<ProviderFact>;

/** Landlines, and carriers that do not serve the sender's short code, have the same code: 30006. */
function verdictOf(code: number, sender: string): SmsVerdict {
  if (code === 30006 && /^\d{3,8}$/.test(sender)) return { kind: 'soft', subtype: 'other' };
  return twilioVerdicts.get(code) ?? unknownFailure;
}

/** Translates the status of a message. null: it says nothing about the outcome. */
function translate(form: URLSearchParams): Meaning | null {
  const status = form.get('MessageStatus') ?? form.get('SmsStatus') ?? '';
  switch (status) {
    case 'accepted':
    case 'queued':
    case 'sending':
    case 'sent':
      return { type: 'accepted' };
    case 'delivered':
      return { type: 'delivered' };
    case 'undelivered':
    case 'failed': {
      const code = clean(form.get('ErrorCode'), 10);
      const words = [code, clean(form.get('ErrorMessage'), MAX_TEXT)].filter((part) => part !== '').join(' ');
      return {
        ...failedSms(verdictOf(Number(code), form.get('From') ?? ''), words || status),
        response: words,
      };
    }
    case 'canceled':
      return { type: 'failed', failure: { code: 'provider_error', message: 'canceled at Twilio' } };
    default:
      return null;
  }
}

const answers: Readonly<Record<string, InboundSms['answered']>> = {
  STOP: 'stop',
  START: 'start',
  HELP: 'help',
};

function inboundOf(form: URLSearchParams): InboundSms {
  const type = form.get('OptOutType') ?? '';
  return {
    from: clean(form.get('From'), MAX_ID),
    to: clean(form.get('To'), MAX_ID),
    pool: clean(form.get('MessagingServiceSid'), MAX_ID) || null,
    text: clean(form.get('Body'), MAX_TEXT),
    answered: Object.hasOwn(answers, type) ? (answers[type] ?? null) : null,
    providerMessageId: clean(form.get('MessageSid'), MAX_ID) || null,
  };
}

function parse(request: CallbackRequest, { auth_token: token }: TwilioSettings): CallbackResult {
  const form = readForm(request);
  if (!isGenuine(request, form, token)) return refusedCallback('wrong signature');
  if (!form) return genuineCallback({ ignored: 1 });
  if (form.get('SmsStatus') === 'received') {
    return genuineCallback({ inbound: [inboundOf(form)], response: NO_ANSWER });
  }
  const meaning = translate(form);
  if (meaning === null) return genuineCallback({ ignored: 1 });
  const fact = factOf({
    reference: URL.parse(request.url)?.searchParams.get(REFERENCE_PARAMETER) ?? null,
    providerMessageId: clean(form.get('MessageSid'), MAX_ID) || null,
    occurredAt: request.now,
    ...meaning,
  });
  return genuineCallback({ facts: [fact] });
}

export const twilioCallbacks: ProviderCallbacks<TwilioSettings> = {
  parseCallback: (request, settings) => Promise.resolve(parse(request, settings)),
};
