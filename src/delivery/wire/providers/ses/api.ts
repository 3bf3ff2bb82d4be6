/** Requests to Amazon SES API v2 (https://docs.aws.amazon.com/ses/latest/APIReference-V2/). */
import aws4 from 'aws4';
import { z } from 'zod';
import type { Egress } from '../../../../platform/egress/client.ts';
import { type ApiRequest, type ApiResponse, type ApiResult, requestApi } from '../../adapters/http-api.ts';
import { jsonBody } from '../../adapters/request-body.ts';

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export const sesSettings = z.strictObject({
  region: z
    .string()
    .regex(/^[a-z]{2}(?:-[a-z]{2,12}){1,3}-\d{1,2}$/, 'must be an AWS region, such as eu-central-1')
    .describe('AWS region of SES, such as eu-central-1'),
  access_key_id: z.string().min(16).max(128).describe('access key of an IAM user that may use SES'),
  secret_access_key: z.string().min(16).max(256).describe('secret of the access key'),
  session_token: z
    .string()
    .min(1)
    .max(8_192)
    .optional()
    .describe('session token, if the access key is a temporary one'),
  configuration_set: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be the name of a configuration set')
    .optional()
    .describe('configuration set whose events go to the SNS topic'),
  topic_arn: z
    .string()
    .regex(
      /^arn:aws[a-z-]{0,10}:sns:[a-z0-9-]{1,40}:\d{12}:[A-Za-z0-9_-]{1,256}$/,
      'must be the ARN of a topic',
    )
    .optional()
    .describe('ARN of the SNS topic; notifications of other topics are refused'),
  requests_per_second: z.coerce
    .number()
    .min(0.1)
    .max(10_000)
    .optional()
    .describe(
      'emails per second and sender process; all processes share the sending rate of the SES account',
    ),
  mail_from: z
    .string()
    .regex(label, 'must be a single label, such as ses')
    .default('ses')
    .describe('subdomain of each sending domain that takes bounces for SES'),
  base_url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('base URL of the API, if not the default, such as a VPC endpoint'),
});

export type SesSettings = z.output<typeof sesSettings>;

interface SesRequest {
  method: ApiRequest['method'];
  /** Must not contain characters that need escaping; it may have a query. */
  path: string;
  /** A Buffer has JSON already. */
  body?: unknown;
}

/** Makes a request, signed with Signature Version 4. Never throws. */
export function requestSes(settings: SesSettings, egress: Egress, request: SesRequest): Promise<ApiResult> {
  const url = new URL(request.path, settings.base_url ?? `https://email.${settings.region}.amazonaws.com`);
  const body = request.body === undefined ? undefined : jsonBody(request.body);
  const { headers } = aws4.sign(
    {
      host: url.host,
      path: `${url.pathname}${url.search}`,
      method: request.method,
      service: 'ses',
      region: settings.region,
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    },
    {
      accessKeyId: settings.access_key_id,
      secretAccessKey: settings.secret_access_key,
      ...(settings.session_token === undefined ? {} : { sessionToken: settings.session_token }),
    },
  );
  return requestApi(egress, {
    method: request.method,
    url: url.href,
    headers: Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name, String(value)])),
    ...(body === undefined ? {} : { body }),
  });
}

/** The name of an error, such as `MessageRejected`; empty if the response names none. */
export function sesErrorCode({ headers, json }: ApiResponse): string {
  const { __type: type, code } = (json ?? {}) as { __type?: unknown; code?: unknown };
  const named = [headers['x-amzn-errortype'], type, code].find((name) => typeof name === 'string');
  // Such as `com.amazonaws.sesv2#MessageRejected` or `MessageRejected:http://internal.amazon.com/`.
  return /^(?:[\w.]{1,100}#)?(\w{1,64})/.exec(String(named ?? ''))?.[1]?.replace(/Exception$/, '') ?? '';
}

export function sesErrorMessage({ json, text }: ApiResponse): string {
  const { message, Message } = (json ?? {}) as { message?: unknown; Message?: unknown };
  const found = message ?? Message;
  return typeof found === 'string' ? found : text;
}
