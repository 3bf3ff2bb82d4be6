/** Requests to the Postmark API (https://postmarkapp.com/developer/api/overview). */
import { z } from 'zod';
import type { Egress } from '../../../../platform/egress/client.ts';
import { type ApiRequest, type ApiResponse, type ApiResult, requestApi } from '../../adapters/http-api.ts';
import { jsonBody } from '../../adapters/request-body.ts';

export const POSTMARK = 'Postmark';

export const postmarkSettings = z.strictObject({
  server_token: z.string().min(8).max(128).describe('API token of the Postmark server'),
  account_token: z
    .string()
    .min(8)
    .max(128)
    .optional()
    .describe('API token of the Postmark account; without it, you register domains by hand'),
  message_stream: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,29}$/, 'must be the ID of a message stream')
    .default('outbound')
    .describe('ID of the message stream'),
  return_path: z
    .string()
    .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'must be a single label, such as pm-bounces')
    .default('pm-bounces')
    .describe('subdomain of each sending domain that takes bounces for Postmark'),
  base_url: z
    .url({ protocol: /^https?$/ })
    .default('https://api.postmarkapp.com')
    .describe('base URL of the API'),
});

export type PostmarkSettings = z.output<typeof postmarkSettings>;

/**
 * Makes a request. Never throws. A body that is a Buffer has JSON already.
 * @param token the token's header, with its value
 */
export function requestPostmark(
  settings: PostmarkSettings,
  egress: Egress,
  token: Record<string, string>,
  request: { method: ApiRequest['method']; path: string; body?: unknown },
): Promise<ApiResult> {
  return requestApi(egress, {
    method: request.method,
    url: new URL(request.path, settings.base_url).href,
    headers: { ...token, accept: 'application/json', 'content-type': 'application/json' },
    ...(request.body === undefined ? {} : { body: jsonBody(request.body) }),
  });
}

export const serverToken = (settings: PostmarkSettings) => ({
  'x-postmark-server-token': settings.server_token,
});

const error = z.object({ ErrorCode: z.number(), Message: z.string().catch('') });

/** The error of a response, or of one message of a batch. `code` is null if there is none. */
export function postmarkError({ json, text }: Pick<ApiResponse, 'json' | 'text'>) {
  const parsed = error.safeParse(json);
  return parsed.success
    ? { code: parsed.data.ErrorCode, message: parsed.data.Message }
    : { code: null, message: text };
}
