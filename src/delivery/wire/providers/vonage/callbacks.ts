/**
 * Webhooks of the Messages API: the status of sent messages, and messages that recipients sent
 * (https://developer.vonage.com/en/messages/code-snippets/configure-webhooks).
 */
import { createHash } from 'node:crypto';
import { jwtVerify } from 'jose';
import { z } from 'zod';
import { jsonOf, timeOf } from '../../adapters/callback-body.ts';
import {
  factOf,
  genuineCallback,
  headerOf,
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
import { vonageProblem, type VonageSettings, vonageVerdicts } from './api.ts';

/** Vonage retries a webhook for a day, perhaps with the original token. The token covers the body. */
const MAX_TOKEN_AGE = '25h';
const MAX_TOKEN_CHARACTERS = 4_000;

const id = z.string().max(100);
const number = z.string().regex(/^\d{3,15}$/);

const statusSchema = z.object({
  message_uuid: id.nullable().catch(null),
  client_ref: id.nullable().catch(null),
  from: z.string().max(100).catch(''),
  timestamp: z.string().max(100).catch(''),
  status: z.string().max(100),
  error: z.unknown().optional(),
});

const inboundSchema = z.object({
  channel: z.literal('sms'),
  message_uuid: id.nullable().catch(null),
  from: number,
  to: number,
  text: z
    .string()
    .transform((text) => text.slice(0, 2_000))
    .catch(''),
});

const claimsSchema = z.object({
  payload_hash: z.string().regex(/^[0-9a-f]{64}$/i),
  application_id: z.string().optional(),
});

const unknownFailure: SmsVerdict = { kind: 'failed', code: 'provider_error' };

/**
 * Checks the token (https://developer.vonage.com/en/getting-started/concepts/signing-messages): a JWT signed with the
 * account's signature secret, which contains the digest of the body.
 * @returns what is wrong
 */
async function signatureProblem(request: CallbackRequest, settings: VonageSettings): Promise<string | null> {
  const token = /^Bearer (\S+)$/i.exec(headerOf(request, 'authorization') ?? '')?.[1];
  if (token === undefined || token.length > MAX_TOKEN_CHARACTERS) return 'no signature';
  try {
    const { payload } = await jwtVerify(token, Buffer.from(settings.signature_secret), {
      algorithms: ['HS256'],
      currentDate: request.now,
      maxTokenAge: MAX_TOKEN_AGE,
      clockTolerance: '5m',
    });
    const claims = claimsSchema.safeParse(payload);
    if (!claims.success) return 'the signature does not cover the body';
    const { payload_hash: hash, application_id: application } = claims.data;
    if (application !== undefined && application !== settings.application_id) return 'another application';
    const digest = createHash('sha256').update(request.body).digest();
    return sameDigest(digest, Buffer.from(hash, 'hex')) ? null : 'wrong signature';
  } catch {
    return 'wrong signature';
  }
}

type Meaning = Pick<ProviderFact, 'type'> & Partial<ProviderFact>;

/** Translates the status of a message. null: it says nothing about the outcome. */
function translate({ status, error }: z.output<typeof statusSchema>): Meaning | null {
  switch (status) {
    case 'submitted':
      return { type: 'accepted' };
    case 'delivered':
      return { type: 'delivered' };
    case 'rejected':
    case 'undeliverable': {
      const { code, text } = vonageProblem(error);
      const words = [code === null ? '' : String(code), text].filter((part) => part !== '').join(' ');
      const verdict = code === null ? unknownFailure : (vonageVerdicts.get(code) ?? unknownFailure);
      return { ...failedSms(verdict, words || status), response: words };
    }
    default:
      return null;
  }
}

/** Vonage writes numbers in E.164 form without the plus. Short codes have fewer digits than any number. */
const withPlus = (digits: string) => (digits.length < 7 ? digits : `+${digits}`);

function inboundOf(body: unknown): InboundSms | null {
  const parsed = inboundSchema.safeParse(body);
  if (!parsed.success) return null;
  const { from, to, text, message_uuid: providerMessageId } = parsed.data;
  return { from: withPlus(from), to: withPlus(to), pool: null, text, answered: null, providerMessageId };
}

async function parse(request: CallbackRequest, settings: VonageSettings): Promise<CallbackResult> {
  const problem = await signatureProblem(request, settings);
  if (problem !== null) return refusedCallback(problem);
  const body = jsonOf(request.body);
  const status = statusSchema.safeParse(body);
  if (!status.success) {
    const sms = inboundOf(body);
    return genuineCallback(sms ? { inbound: [sms] } : { ignored: 1 });
  }
  const meaning = translate(status.data);
  if (meaning === null) return genuineCallback({ ignored: 1 });
  const { client_ref: reference, message_uuid: providerMessageId, timestamp } = status.data;
  const occurredAt = timeOf(timestamp, request.now);
  return genuineCallback({ facts: [factOf({ reference, providerMessageId, occurredAt, ...meaning })] });
}

export const vonageCallbacks: ProviderCallbacks<VonageSettings> = { parseCallback: parse };
