/** Requests to the Twilio SendGrid API v3 (https://www.twilio.com/docs/sendgrid/api-reference). */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Egress } from '../../../../platform/egress/client.ts';
import { type ApiRequest, type ApiResponse, type ApiResult, requestApi } from '../../adapters/http-api.ts';
import { jsonBody } from '../../adapters/request-body.ts';

export const SENDGRID = 'SendGrid';

/** Cached, because parsing a key takes as long as checking a signature. */
const keys = new LRUCache<string, KeyObject>({
  max: 100,
  memoMethod: (text) => createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' }),
});

/**
 * @param text base64 without PEM lines, as SendGrid shows it
 * @throws Error if it is not a key
 */
export function verificationKey(text: string): KeyObject {
  return keys.memo(text);
}

function isVerificationKey(text: string): boolean {
  try {
    return verificationKey(text).asymmetricKeyType === 'ec';
  } catch {
    return false;
  }
}

export const sendgridSettings = z.strictObject({
  api_key: z
    .string()
    .min(20)
    .max(256)
    .describe('API key with the permission Mail Send, and Sender Authentication to register domains'),
  verification_key: z
    .string()
    .max(1_024)
    .refine(isVerificationKey, 'must be the verification key of the Signed Event Webhook')
    .optional()
    .describe('verification key of the Signed Event Webhook; callbacks are refused without it'),
  base_url: z
    .url({ protocol: /^https?$/ })
    .default('https://api.sendgrid.com')
    .describe('base URL of the API; https://api.eu.sendgrid.com for an EU subuser'),
});

export type SendgridSettings = z.output<typeof sendgridSettings>;

/** Makes a request. Never throws. A body that is a Buffer has JSON already. */
export function requestSendgrid(
  settings: SendgridSettings,
  egress: Egress,
  request: { method: ApiRequest['method']; path: string; body?: unknown },
): Promise<ApiResult> {
  return requestApi(egress, {
    method: request.method,
    url: new URL(request.path, settings.base_url).href,
    headers: {
      authorization: `Bearer ${settings.api_key}`,
      accept: 'application/json',
      'content-type': 'application/json',
    },
    ...(request.body === undefined ? {} : { body: jsonBody(request.body) }),
  });
}

const errors = z.object({
  errors: z
    .array(z.object({ message: z.string().catch(''), field: z.string().nullish().catch(null) }))
    .min(1),
});

/** The first error of a response. */
export function sendgridError({ json, text }: ApiResponse): { message: string; field: string } {
  const parsed = errors.safeParse(json);
  const first = parsed.success ? parsed.data.errors[0] : undefined;
  return { message: first?.message || text, field: first?.field ?? '' };
}
