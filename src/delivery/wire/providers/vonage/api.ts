/**
 * Requests to the Messages API of Vonage, version 1 (https://developer.vonage.com/en/api/messages). The older SMS API
 * is not used: its signatures are weaker (a plain hash by default), and it reports refusals with status 200.
 */
import { createPrivateKey, randomUUID, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import { z } from 'zod';
import type { Egress } from '../../../../platform/egress/client.ts';
import { type ApiRequest, type ApiResponse, type ApiResult, requestApi } from '../../adapters/http-api.ts';
import type { SmsVerdict, SmsVerdicts } from '../../adapters/sms-failure.ts';

const TOKEN_SECONDS = 900;
/** A token is replaced a minute before it expires. */
const REUSE_MS = (TOKEN_SECONDS - 60) * 1_000;
const SENDER = /^(?:\+\d{7,15}|\d{3,15}|(?=.*[A-Za-z])[A-Za-z0-9 &.-]{1,11})$/;

/** Also accepts line breaks written as \n, as in environment variables. */
const pem = (text: string) => text.replaceAll('\\n', '\n');

function isRsaKey(text: string): boolean {
  try {
    return createPrivateKey(pem(text)).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}

export const vonageSettings = z.strictObject({
  application_id: z.guid().describe('id of the application, with the capability Messages'),
  private_key: z
    .string()
    .max(10_000)
    .refine(isRsaKey, 'must be an RSA key in PEM form')
    .describe('private key of the application (PEM)'),
  signature_secret: z
    .string()
    .min(16)
    .max(200)
    .describe('signature secret of the account; it signs webhooks'),
  from: z
    .string()
    .regex(SENDER, 'must be a number such as +14155550123, or a name of at most 11 characters')
    .optional()
    .describe('sender for brands without their own: a number or a name'),
  base_url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('base URL of the API, if not the default, such as that of a region'),
});

export type VonageSettings = z.output<typeof vonageSettings>;

/** Returns the token that authorizes requests: a JWT signed by the application's key. */
export type VonageToken = () => Promise<string>;

/** Creates tokens, and reuses each for some minutes. */
export function createVonageToken({ application_id: id, private_key: text }: VonageSettings): VonageToken {
  let key: KeyObject | null = null;
  let current: { token: Promise<string>; until: number } | null = null;
  return () => {
    if (current && current.until > performance.now()) return current.token;
    key ??= createPrivateKey(pem(text));
    const token = new SignJWT({ application_id: id })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
      .setIssuedAt()
      .setJti(randomUUID())
      .setExpirationTime(`${TOKEN_SECONDS}s`)
      .sign(key);
    current = { token, until: performance.now() + REUSE_MS };
    return token;
  };
}

/** Makes a request. Never throws. */
export async function requestVonage(
  settings: VonageSettings,
  token: VonageToken,
  egress: Egress,
  { method, path, body }: { method: ApiRequest['method']; path: string; body?: unknown },
): Promise<ApiResult> {
  return requestApi(egress, {
    method,
    url: new URL(path, settings.base_url ?? 'https://api.nexmo.com').href,
    headers: {
      authorization: `Bearer ${await token()}`,
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** An error as Vonage describes it (RFC 9457), in responses and in webhooks. */
const problemSchema = z.object({
  type: z.string().max(1_000).catch(''),
  title: z.union([z.string(), z.number()]).transform(String).catch(''),
  detail: z.string().max(10_000).catch(''),
});

/**
 * Its code (https://developer.vonage.com/api-errors/messages), which is the title of some errors and the end of `type`
 * of others.
 */
export function vonageProblem(problem: unknown): { code: number | null; text: string } {
  const parsed = problemSchema.safeParse(problem);
  if (!parsed.success) return { code: null, text: '' };
  const { type, title, detail } = parsed.data;
  const found = /^\d{4}$/.exec(title) ?? /(?<=#)\d{4}$/.exec(type);
  return { code: found ? Number(found[0]) : null, text: detail === '' ? title : detail };
}

/** Vonage's error message. */
export function vonageMessage({ json, text }: ApiResponse): string {
  const problem = vonageProblem(json);
  return problem.text === '' ? text : problem.text;
}

/** Known error codes, grouped by meaning. */
const codes: readonly [SmsVerdict, readonly number[]][] = [
  // Throttled, internal error, account barred or out of credit, communication failed.
  [{ kind: 'fault' }, [1000, 1030, 1060, 1070, 1080, 1100, 1230, 1241]],
  [{ kind: 'failed', code: 'invalid_recipient' }, [1040, 1160, 1170]],
  [{ kind: 'failed', code: 'sender_rejected' }, [1120]],
  [{ kind: 'failed', code: 'content_rejected' }, [1090, 1210, 1270]],
  // Barred, no route, or blocked by the carrier.
  [{ kind: 'failed', code: 'rejected' }, [1010, 1020, 1050, 1140, 1250, 1280, 1290]],
  [{ kind: 'failed', code: 'expired' }, [1360]],
  // The recipient answered STOP.
  [{ kind: 'opted_out' }, [1240]],
  // Temporarily unreachable, busy, or being ported to another carrier.
  [{ kind: 'soft', subtype: 'other' }, [1180, 1200, 1220, 1260]],
  [{ kind: 'hard', subtype: 'no_such_mailbox' }, [1190]],
];

export const vonageVerdicts: SmsVerdicts = new Map(
  codes.flatMap(([verdict, numbers]) => numbers.map((number): [number, SmsVerdict] => [number, verdict])),
);
