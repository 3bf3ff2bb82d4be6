/** Requests to the API of Mailgun (https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun). */
import { z } from 'zod';
import type { Egress } from '../../../../platform/egress/client.ts';
import { type ApiRequest, type ApiResponse, type ApiResult, requestApi } from '../../adapters/http-api.ts';
import { joinBody, type ReadPart } from '../../adapters/request-body.ts';

const regions = { us: 'https://api.mailgun.net', eu: 'https://api.eu.mailgun.net' };

export const mailgunSettings = z.strictObject({
  api_key: z
    .string()
    .min(16)
    .max(200)
    .describe('API key of the account (Sending keys cannot manage domains)'),
  webhook_signing_key: z.string().min(16).max(200).describe('HTTP webhook signing key of the account'),
  region: z.enum(['us', 'eu']).default('us').describe('region of the domains: us or eu'),
  base_url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('base URL of the API, instead of that of the region'),
});

export type MailgunSettings = z.output<typeof mailgunSettings>;

interface MailgunRequest {
  method: ApiRequest['method'];
  /** Must not contain characters that need escaping. */
  path: string;
  /** Form fields, sent as multipart/form-data. */
  form?: readonly FormField[];
}

/** A form field. Anything but a string is sent as a file. */
export type FormField = readonly [name: string, value: string | Buffer | ReadPart];

/**
 * The boundary must not occur in a message. It is random and new for each request, so no message can contain it on
 * purpose.
 */
async function multipart(fields: readonly FormField[]): Promise<{ contentType: string; body: Buffer }> {
  const boundary = `carillon-${crypto.randomUUID()}`;
  const parts = fields.flatMap(([name, value]) => {
    const file = typeof value === 'string' ? '' : `; filename="${name}"\r\ncontent-type: message/rfc822`;
    return [`--${boundary}\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n`, value, '\r\n'];
  });
  const body = await joinBody([...parts, `--${boundary}--\r\n`]);
  return { contentType: `multipart/form-data; boundary=${boundary}`, body };
}

/**
 * Makes a request.
 * @throws UnreadableError if a file of the form cannot be read
 */
export async function requestMailgun(
  settings: MailgunSettings,
  egress: Egress,
  request: MailgunRequest,
): Promise<ApiResult> {
  const form = request.form && (await multipart(request.form));
  const credentials = Buffer.from(`api:${settings.api_key}`).toString('base64');
  return requestApi(egress, {
    method: request.method,
    url: new URL(request.path, settings.base_url ?? regions[settings.region]).href,
    headers: {
      authorization: `Basic ${credentials}`,
      accept: 'application/json',
      ...(form ? { 'content-type': form.contentType } : {}),
    },
    ...(form ? { body: form.body } : {}),
  });
}

/** Mailgun's error message. */
export function mailgunMessage({ json, text }: ApiResponse): string {
  const { message } = (json ?? {}) as { message?: unknown };
  return typeof message === 'string' ? message : text;
}
