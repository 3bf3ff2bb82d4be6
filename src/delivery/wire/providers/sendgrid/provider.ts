import { headersOf, smtpUtf8Refusal, textOf } from '../../adapters/email-parts.ts';
import {
  type ApiDialect,
  createApiProvider,
  apiFault,
  checkedResponse,
  apiReply,
  type ApiResponse,
  outcomeOf,
  unverified,
} from '../../adapters/http-api.ts';
import type { NamedProviderDeps, ProviderDeps, ProviderKind } from '../../adapters/kind.ts';
import type { EmailProvider, OutgoingEmail } from '../../adapters/port.ts';
import type { HandOverOutcome } from '../../../terms/hand-over-outcome.ts';
import { requestSendgrid, SENDGRID, sendgridError, type SendgridSettings, sendgridSettings } from './api.ts';
import { REFERENCE_ARG, sendgridCallbacks } from './callbacks.ts';
import { sendgridDomains } from './domains.ts';

/** Bytes; SendGrid's limit is 10,000. */
const MAX_CUSTOM_ARGS_BYTES = 9_000;

function accepted(response: ApiResponse): HandOverOutcome {
  // 200 means that the message is valid and was not queued.
  if (response.status !== 202) return apiFault(response, dialect);
  const id = response.headers['x-message-id'];
  return {
    kind: 'accepted',
    providerMessageId: typeof id === 'string' ? id : null,
    response: '202',
    delivered: false,
  };
}

/** The failure code of a refusal, by the field that the error names. */
const codesByField = [
  [/^from/, 'sender_rejected'],
  [/^reply_to/, 'sender_rejected'],
  [/^personalizations\.\d+\.to/, 'invalid_recipient'],
  [/^(?:content|subject|headers|personalizations\.\d+\.(?:subject|headers))/, 'content_rejected'],
] as const;

/** https://www.twilio.com/docs/sendgrid/api-reference/mail-send/errors */
const dialect: ApiDialect = {
  title: SENDGRID,
  repeatable: false,
  accepted,
  verdict(response) {
    const { status } = response;
    if (status === 429) return throttled(response);
    if (status !== 400 && status !== 403) return null;
    const { message, field } = sendgridError(response);
    if (/verified Sender Identity/i.test(message)) return unverified(response, message);
    // Any other 403 blocks the key or the account for a while.
    if (status === 403) return null;
    const named = codesByField.find(([pattern]) => pattern.test(field))?.[1] ?? 'rejected';
    return { kind: 'refused', code: named, response: apiReply(response, message) };
  },
};

/** SendGrid says when its limit is reset, in seconds since 1970. */
function throttled(response: ApiResponse): HandOverOutcome {
  const reset = Number(response.headers['x-ratelimit-reset']);
  const fault = apiFault(response, dialect);
  const waitMs = reset * 1_000 - Date.now();
  return fault.kind === 'fault' && waitMs > 0 ? { ...fault, retryAfterMs: waitMs } : fault;
}

/** Custom arguments come back among the fields of an event, so a prefix keeps the client's tags apart from them. */
function customArgs({ reference, tags }: OutgoingEmail): Record<string, string> {
  const args: Record<string, string> = { [REFERENCE_ARG]: reference };
  let bytes = 0;
  for (const [name, value] of Object.entries(tags)) {
    bytes += Buffer.byteLength(JSON.stringify({ [`tag_${name}`]: value }));
    if (bytes > MAX_CUSTOM_ARGS_BYTES) break;
    args[`tag_${name}`] = value;
  }
  return args;
}

const named = (address: { name: string | null }, email: string) =>
  address.name === null ? { email } : { email, name: address.name };

/** https://www.twilio.com/docs/sendgrid/api-reference/mail-send/mail-send */
function mailOf(email: OutgoingEmail, mailDomain: string) {
  const { content } = email;
  const { replyTo } = content;
  const text = textOf(content);
  const parts = [
    { type: 'text/plain', value: text },
    { type: 'text/html', value: content.html ?? '' },
  ].filter(({ value }) => value !== '');
  return {
    personalizations: [{ to: [{ email: email.to }], custom_args: customArgs(email) }],
    from: named(content.from, email.from),
    ...(replyTo ? { reply_to: named(replyTo, `${replyTo.local}@${replyTo.domain}`) } : {}),
    subject: content.subject,
    // SendGrid refuses an empty body.
    content: parts.length > 0 ? parts : [{ type: 'text/plain', value: ' ' }],
    headers: headersOf(email, mailDomain),
    tracking_settings: {
      click_tracking: { enable: false, enable_text: false },
      open_tracking: { enable: false },
      subscription_tracking: { enable: false },
      ganalytics: { enable: false },
    },
    mail_settings: { footer: { enable: false }, sandbox_mode: { enable: false } },
  };
}

async function submit(email: OutgoingEmail, settings: SendgridSettings, { egress, config }: ProviderDeps) {
  const refusal = smtpUtf8Refusal(email, SENDGRID);
  if (refusal) return refusal;
  const body = mailOf(email, config.MAIL_DOMAIN);
  const result = await requestSendgrid(settings, egress, { method: 'POST', path: '/v3/mail/send', body });
  return outcomeOf(result, dialect);
}

function createSendgridProvider(settings: SendgridSettings, deps: NamedProviderDeps): EmailProvider {
  return createApiProvider('sendgrid', deps.config, (email: OutgoingEmail) => submit(email, settings, deps));
}

async function check(settings: SendgridSettings, { egress }: ProviderDeps): Promise<string | null> {
  const checked = checkedResponse(
    await requestSendgrid(settings, egress, { method: 'GET', path: '/v3/scopes' }),
    { title: SENDGRID, words: (response) => sendgridError(response).message },
  );
  if (typeof checked === 'string') return checked;
  const { scopes } = (checked.json ?? {}) as { scopes?: unknown };
  if (!Array.isArray(scopes)) return `${SENDGRID}: the response has no scopes`;
  return scopes.includes('mail.send') ? null : 'the API key lacks the permission Mail Send';
}

/** Twilio SendGrid, API v3. It builds messages from their parts, and has no idempotency keys. */
export const sendgrid: ProviderKind<SendgridSettings, 'email'> = {
  name: 'sendgrid',
  channel: 'email',
  title: SENDGRID,
  settings: sendgridSettings,
  secrets: ['api_key'],
  repeatable: false,
  create: createSendgridProvider,
  check,
  domains: sendgridDomains,
  callbacks: sendgridCallbacks,
};
