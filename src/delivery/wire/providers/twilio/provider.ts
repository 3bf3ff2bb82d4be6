import {
  type ApiDialect,
  createApiProvider,
  apiFault,
  checkedResponse,
  apiReply,
  type ApiResponse,
  outcomeOf,
} from '../../adapters/http-api.ts';
import type { NamedProviderDeps, ProviderDeps, ProviderKind } from '../../adapters/kind.ts';
import type { OutgoingSms, SmsProvider } from '../../adapters/port.ts';
import type { HandOverOutcome } from '../../../terms/hand-over-outcome.ts';
import { refusedSms } from '../../adapters/sms-failure.ts';
import {
  MESSAGING_SERVICE,
  requestTwilio,
  twilioErrorCode,
  twilioMessage,
  type TwilioSettings,
  twilioSettings,
  twilioVerdicts,
} from './api.ts';
import { REFERENCE_PARAMETER, twilioCallbacks } from './callbacks.ts';

const TITLE = 'Twilio';

function accepted(response: ApiResponse): HandOverOutcome {
  const { sid } = (response.json ?? {}) as { sid?: unknown };
  if (typeof sid !== 'string') return { kind: 'unknown', reason: `${TITLE}: the response has no sid` };
  return { kind: 'accepted', providerMessageId: sid, response: String(response.status), delivered: false };
}

const dialect: ApiDialect = {
  title: TITLE,
  repeatable: false,
  accepted,
  errorCode: twilioErrorCode,
  verdict(response) {
    const code = twilioErrorCode(response);
    const verdict = code === null ? undefined : twilioVerdicts.get(code);
    if (!verdict) return null;
    return (
      refusedSms(verdict, apiReply(response, `${code} ${twilioMessage(response)}`)) ??
      apiFault(response, dialect)
    );
  },
};

/** Twilio posts each report to this URL unchanged, and signs it. */
function callbackUrl(url: string, reference: string): string {
  return `${url}?${REFERENCE_PARAMETER}=${encodeURIComponent(reference)}`;
}

async function submit(
  sms: OutgoingSms,
  settings: TwilioSettings,
  deps: NamedProviderDeps,
): Promise<HandOverOutcome> {
  const from = sms.from ?? settings.from;
  if (from === undefined) {
    const response = 'the brand has no SMS sender, and the provider has no default sender';
    return { kind: 'refused', code: 'sender_rejected', response };
  }
  const result = await requestTwilio(settings, deps.egress, '/Messages.json', {
    To: sms.to,
    [MESSAGING_SERVICE.test(from) ? 'MessagingServiceSid' : 'From']: from,
    Body: sms.text,
    ...(deps.callbackUrl === null ? {} : { StatusCallback: callbackUrl(deps.callbackUrl, sms.reference) }),
  });
  return outcomeOf(result, dialect);
}

function createTwilioProvider(settings: TwilioSettings, deps: NamedProviderDeps): SmsProvider {
  return createApiProvider('twilio', deps.config, (sms: OutgoingSms) => submit(sms, settings, deps));
}

async function check(settings: TwilioSettings, { egress }: ProviderDeps): Promise<string | null> {
  const checked = checkedResponse(await requestTwilio(settings, egress, '.json'), {
    title: TITLE,
    refused: { statuses: [401], credentials: 'the Account SID and Auth Token' },
    words: twilioMessage,
  });
  if (typeof checked === 'string') return checked;
  const { status } = (checked.json ?? {}) as { status?: unknown };
  return status === 'active' ? null : `the Twilio account is not active, but ${String(status)}`;
}

/** Twilio Programmable Messaging. It has no idempotency keys, and takes the callback URL with each message. */
export const twilio: ProviderKind<TwilioSettings, 'sms'> = {
  name: 'twilio',
  channel: 'sms',
  title: TITLE,
  settings: twilioSettings,
  secrets: ['auth_token'],
  repeatable: false,
  create: createTwilioProvider,
  check,
  callbacks: twilioCallbacks,
};
