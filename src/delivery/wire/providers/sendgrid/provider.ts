import { invitationMethod } from '../../../content/mime/parameters.ts';
import { headersOf, textOf } from '../../adapters/email-parts.ts';
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
import {
  bareAddress,
  bareType,
  filesOf,
  inlineId,
  partsRefusal,
  repliesTo,
} from '../../adapters/letter-parts.ts';
import type { EmailProvider, OutgoingFile, OutgoingMail } from '../../adapters/port.ts';
import { base64OfFile, readFile, writeJson } from '../../adapters/request-body.ts';
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
  [/^(?:content|subject|headers|attachments|personalizations\.\d+\.(?:subject|headers))/, 'content_rejected'],
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
function customArgs({ reference, tags }: OutgoingMail): Record<string, string> {
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
async function mailOf(email: OutgoingMail, mailDomain: string) {
  const { content } = email;
  const files = filesOf(email);
  const invitation = files.find((file) => invitationMethod(file.contentType) !== null);
  const texts = [
    { type: 'text/plain', value: textOf(content) },
    { type: 'text/html', value: content.html ?? '' },
  ].filter(({ value }) => value !== '');
  const attached = files.filter((file) => file !== invitation);
  return {
    personalizations: [{ to: [{ email: email.to }], custom_args: customArgs(email) }],
    from: named(content.from, email.from),
    ...repliesOf(email),
    subject: content.subject,
    // SendGrid refuses an empty body.
    content: [
      ...(texts.length > 0 ? texts : [{ type: 'text/plain', value: ' ' }]),
      ...(invitation ? [await invitationPart(invitation)] : []),
    ],
    ...(attached.length > 0 ? { attachments: attached.map(attachmentOf) } : {}),
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

/** SendGrid takes either one address or a list. */
function repliesOf(email: OutgoingMail) {
  const replies = repliesTo(email).map((address) => named(address, bareAddress(address)));
  if (replies.length > 1) return { reply_to_list: replies };
  return replies.length === 1 ? { reply_to: replies[0] } : {};
}

/**
 * A further version of the body, which SendGrid sends as the last alternative. An attachment could not name its method,
 * because its type must not have parameters (https://github.com/sendgrid/sendgrid-ruby/issues/298).
 */
async function invitationPart(file: OutgoingFile) {
  const calendar = await readFile(file);
  return {
    type: `text/calendar; method=${invitationMethod(file.contentType)}`,
    value: calendar.toString('utf8'),
  };
}

/** The characters that SendGrid refuses in names, which would end them in a header. */
const nameBreaks = /[;,\r\n]/g;

function attachmentOf(file: OutgoingFile) {
  const id = inlineId(file);
  return {
    content: base64OfFile(file),
    filename: file.filename.replace(nameBreaks, '_'),
    type: bareType(file),
    ...(id === null ? { disposition: 'attachment' } : { disposition: 'inline', content_id: id }),
  };
}

async function submit(email: OutgoingMail, settings: SendgridSettings, { egress, config }: ProviderDeps) {
  const refusal = partsRefusal(email, SENDGRID);
  if (refusal) return refusal;
  const mail = await mailOf(email, config.MAIL_DOMAIN);
  const body = filesOf(email).length > 0 ? await writeJson(mail) : mail;
  const result = await requestSendgrid(settings, egress, { method: 'POST', path: '/v3/mail/send', body });
  return outcomeOf(result, dialect);
}

function createSendgridProvider(settings: SendgridSettings, deps: NamedProviderDeps): EmailProvider {
  return createApiProvider('sendgrid', deps.config, (email: OutgoingMail) => submit(email, settings, deps));
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
