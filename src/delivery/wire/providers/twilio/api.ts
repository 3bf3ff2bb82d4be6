/** Requests to Twilio's API of 2010-04-01 (https://www.twilio.com/docs/messaging/api/message-resource). */
import { z } from 'zod';
import type { Egress } from '../../../../platform/egress/client.ts';
import { type ApiResponse, type ApiResult, requestApi } from '../../adapters/http-api.ts';
import type { SmsVerdict, SmsVerdicts } from '../../adapters/sms-failure.ts';

export const MESSAGING_SERVICE = /^MG[0-9a-f]{32}$/i;
const SENDER = /^(?:\+\d{7,15}|\d{3,8}|MG[0-9a-fA-F]{32}|(?=.*[A-Za-z])[A-Za-z0-9 &.-]{1,11})$/;

export const twilioSettings = z.strictObject({
  account_sid: z
    .string()
    .regex(/^AC[0-9a-f]{32}$/i, 'must be an Account SID, which begins with AC')
    .describe('Account SID'),
  auth_token: z
    .string()
    .min(16)
    .max(200)
    .describe('Auth Token of the account; Twilio signs callbacks with it'),
  from: z
    .string()
    .regex(SENDER, 'must be a number such as +14155550123, or the SID of a Messaging Service')
    .optional()
    .describe('sender for brands without their own: a number, or the SID of a Messaging Service (MG…)'),
  base_url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('base URL of the API, if not the default, such as that of a region'),
});

export type TwilioSettings = z.output<typeof twilioSettings>;

/** Makes a request about the account. Never throws. @param form sent as application/x-www-form-urlencoded */
export function requestTwilio(
  settings: TwilioSettings,
  egress: Egress,
  path: string,
  form?: Record<string, string>,
): Promise<ApiResult> {
  const { account_sid: sid, auth_token: token, base_url: base = 'https://api.twilio.com' } = settings;
  return requestApi(egress, {
    method: form ? 'POST' : 'GET',
    url: new URL(`/2010-04-01/Accounts/${sid}${path}`, base).href,
    headers: {
      authorization: `Basic ${Buffer.from(`${sid}:${token}`).toString('base64')}`,
      accept: 'application/json',
      ...(form ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
    },
    ...(form ? { body: new URLSearchParams(form).toString() } : {}),
  });
}

/** The code of an error (https://www.twilio.com/docs/api/errors); null if the response has none. */
export function twilioErrorCode({ json }: ApiResponse): number | null {
  const { code } = (json ?? {}) as { code?: unknown };
  return typeof code === 'number' ? code : null;
}

/** Twilio's error message. */
export function twilioMessage({ json, text }: ApiResponse): string {
  const { message } = (json ?? {}) as { message?: unknown };
  return typeof message === 'string' ? message : text;
}

/** Known error codes, grouped by meaning. They are the same in responses and in callbacks. */
const codes: readonly [SmsVerdict, readonly number[]][] = [
  // The number is invalid, or does not take SMS.
  [
    { kind: 'failed', code: 'invalid_recipient' },
    [21211, 21214, 21217, 21265, 21401, 21421, 21604, 21614, 21635],
  ],
  // The recipient answered STOP.
  [{ kind: 'opted_out' }, [21610]],
  // The sender is unknown, belongs to another account, or is not registered or not allowed for this country.
  [
    { kind: 'failed', code: 'sender_rejected' },
    [21212, 21603, 21606, 21659, 21660, 21661, 21701, 21702, 21703, 30023, 30024, 30032, 30034, 30035],
  ],
  // The text is missing, too long, or was refused by a carrier's filter.
  [{ kind: 'failed', code: 'content_rejected' }, [21602, 21605, 21617, 30007]],
  // Not allowed for this country, no route there, or blocked by the carrier.
  [{ kind: 'failed', code: 'rejected' }, [21408, 21612, 30004]],
  [{ kind: 'failed', code: 'expired' }, [30036]],
  // Queue overflow, limits, and a suspended account.
  [{ kind: 'fault' }, [20429, 21611, 30001, 30002, 30022, 63038]],
  // The handset is switched off or out of reach.
  [{ kind: 'soft', subtype: 'other' }, [30003]],
  // The number is no longer in use; it is a landline.
  [{ kind: 'hard', subtype: 'no_such_mailbox' }, [30005]],
  [{ kind: 'hard', subtype: 'bad_address' }, [30006]],
];

export const twilioVerdicts: SmsVerdicts = new Map(
  codes.flatMap(([verdict, numbers]) => numbers.map((number): [number, SmsVerdict] => [number, verdict])),
);
