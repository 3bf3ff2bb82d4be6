/** Requests to the API of Resend (https://resend.com/docs/api-reference/introduction). */
import { z } from 'zod';
import type { Egress } from '../../../../platform/egress/client.ts';
import { type ApiRequest, type ApiResponse, type ApiResult, requestApi } from '../../adapters/http-api.ts';
import { jsonBody } from '../../adapters/request-body.ts';

/** Resend's limit for a team, unless it has raised it: https://resend.com/docs/api-reference/rate-limit */
const DEFAULT_REQUESTS_PER_SECOND = 2;

export const resendSettings = z.strictObject({
  api_key: z.string().min(8).max(200).describe('API key with full access'),
  webhook_secret: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/=]{16,200}$/, 'must be a signing secret that begins with whsec_')
    .describe('signing secret of the webhook that calls the callback URL'),
  region: z
    .enum(['us-east-1', 'eu-west-1', 'sa-east-1', 'ap-northeast-1'])
    .default('us-east-1')
    .describe('region of new sending domains'),
  requests_per_second: z.coerce
    .number()
    .min(0.1)
    .max(1_000)
    .default(DEFAULT_REQUESTS_PER_SECOND)
    .describe('emails per second and sender process; all processes share the limit of the team'),
  base_url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('base URL of the API, if not the default'),
});

export type ResendSettings = z.output<typeof resendSettings>;

interface ResendRequest {
  method: ApiRequest['method'];
  /** Must not contain characters that need escaping. */
  path: string;
  headers?: Record<string, string>;
  /** A Buffer has JSON already. */
  body?: unknown;
}

/** Makes a request. Never throws. */
export function requestResend(
  settings: ResendSettings,
  egress: Egress,
  request: ResendRequest,
): Promise<ApiResult> {
  const { method, path, headers, body } = request;
  return requestApi(egress, {
    method,
    url: new URL(path, settings.base_url ?? 'https://api.resend.com').href,
    headers: {
      authorization: `Bearer ${settings.api_key}`,
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: jsonBody(body) }),
  });
}

/** The name of an error, such as `rate_limit_exceeded`; empty if the response names none. */
export function resendErrorName({ json }: ApiResponse): string {
  const { name } = (json ?? {}) as { name?: unknown };
  return typeof name === 'string' ? name : '';
}

/** Resend's error message. */
export function resendMessage({ json, text }: ApiResponse): string {
  const { message } = (json ?? {}) as { message?: unknown };
  return typeof message === 'string' ? message : text;
}
