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
  createVonageToken,
  requestVonage,
  vonageMessage,
  vonageProblem,
  type VonageSettings,
  vonageSettings,
  type VonageToken,
  vonageVerdicts,
} from './api.ts';
import { vonageCallbacks } from './callbacks.ts';

const TITLE = 'Vonage';

function accepted(response: ApiResponse): HandOverOutcome {
  const { message_uuid: id } = (response.json ?? {}) as { message_uuid?: unknown };
  if (typeof id !== 'string')
    return { kind: 'unknown', reason: `${TITLE}: the response has no message_uuid` };
  return { kind: 'accepted', providerMessageId: id, response: String(response.status), delivered: false };
}

const dialect: ApiDialect = {
  title: TITLE,
  repeatable: false,
  accepted,
  errorCode: ({ json }) => vonageProblem(json).code,
  verdict(response) {
    const { code } = vonageProblem(response.json);
    const verdict = code === null ? undefined : vonageVerdicts.get(code);
    if (!verdict) return null;
    return (
      refusedSms(verdict, apiReply(response, `${code} ${vonageMessage(response)}`)) ??
      apiFault(response, dialect)
    );
  },
};

/** Vonage takes numbers in E.164 form without the plus. */
const withoutPlus = (number: string) => number.replace(/^\+/, '');

interface Session {
  settings: VonageSettings;
  token: VonageToken;
  deps: ProviderDeps;
}

async function submit(sms: OutgoingSms, { settings, token, deps }: Session): Promise<HandOverOutcome> {
  const from = sms.from ?? settings.from;
  if (from === undefined) {
    const response = 'the brand has no SMS sender, and the provider has no default sender';
    return { kind: 'refused', code: 'sender_rejected', response };
  }
  const result = await requestVonage(settings, token, deps.egress, {
    method: 'POST',
    path: '/v1/messages',
    body: {
      channel: 'sms',
      message_type: 'text',
      to: withoutPlus(sms.to),
      from: withoutPlus(from),
      text: sms.text,
      client_ref: sms.reference,
    },
  });
  return outcomeOf(result, dialect);
}

function createVonageProvider(settings: VonageSettings, deps: NamedProviderDeps): SmsProvider {
  const session = { settings, token: createVonageToken(settings), deps };
  return createApiProvider('vonage', deps.config, (sms: OutgoingSms) => submit(sms, session));
}

/** Asks for a message without a recipient, which Vonage refuses with 422 if the credentials are right. */
async function check(settings: VonageSettings, { egress }: ProviderDeps): Promise<string | null> {
  const result = await requestVonage(settings, createVonageToken(settings), egress, {
    method: 'POST',
    path: '/v1/messages',
    body: { channel: 'sms', message_type: 'text' },
  });
  const credentials =
    'the application id and private key, or the application without the capability Messages';
  const checked = checkedResponse(result, {
    title: TITLE,
    accepted: [400, 422],
    refused: { statuses: [401, 403], credentials },
    words: vonageMessage,
  });
  return typeof checked === 'string' ? checked : null;
}

/** Vonage, Messages API v1. It has no idempotency keys. */
export const vonage: ProviderKind<VonageSettings, 'sms'> = {
  name: 'vonage',
  channel: 'sms',
  title: TITLE,
  settings: vonageSettings,
  secrets: ['private_key', 'signature_secret'],
  repeatable: false,
  create: createVonageProvider,
  check,
  callbacks: vonageCallbacks,
};
