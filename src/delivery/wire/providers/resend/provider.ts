import { headersOf, textOf } from '../../adapters/email-parts.ts';
import {
  type ApiDialect,
  apiReply,
  type ApiResponse,
  createApiProvider,
  outcomeOf,
  refusedMessage,
  unverified,
} from '../../adapters/http-api.ts';
import type { NamedProviderDeps, ProviderDeps, ProviderKind } from '../../adapters/kind.ts';
import { createSpacing } from '../../adapters/spacing.ts';
import { filesOf, inlineId, mailbox, partsRefusal, repliesTo, typeOf } from '../../adapters/letter-parts.ts';
import type { EmailProvider, OutgoingFile, OutgoingMail } from '../../adapters/port.ts';
import { base64OfFile, writeJson } from '../../adapters/request-body.ts';
import type { HandOverOutcome } from '../../../terms/hand-over-outcome.ts';
import { requestResend, resendErrorName, resendMessage, type ResendSettings, resendSettings } from './api.ts';
import { REFERENCE_TAG, resendCallbacks } from './callbacks.ts';
import { resendDomains } from './domains.ts';
import { resendTrackingProblem } from './tracking.ts';

const TITLE = 'Resend';
const MAX_TAGS = 50;
/** The characters and length that Resend allows in the name and the value of a tag. */
const TAG_TEXT = /^[A-Za-z0-9_-]{1,256}$/;

/** The message is too large, or Resend refuses one of its files. */
const aboutContent = /attachment|too (?:large|big)|exceed|content_id/i;

function accepted(response: ApiResponse): HandOverOutcome {
  const { id } = (response.json ?? {}) as { id?: unknown };
  if (typeof id !== 'string') return { kind: 'unknown', reason: `${TITLE}: the response has no id` };
  return { kind: 'accepted', providerMessageId: id, response: String(response.status), delivered: false };
}

/** The error codes of https://resend.com/docs/api-reference/errors. For all others, the status decides. */
const dialect: ApiDialect = {
  title: TITLE,
  repeatable: true,
  accepted,
  errorCode: resendErrorName,
  verdict(response) {
    const name = resendErrorName(response);
    const message = resendMessage(response);
    const text = `${name} ${message}`;
    switch (name) {
      case 'invalid_from_address':
        return refusedMessage(response, 'sender_rejected', text);
      case 'validation_error':
        if (/\bdomain\b.{0,300}\bnot verified\b/i.test(message)) {
          return unverified(response, text);
        }
        if (/only send testing emails/i.test(message))
          return refusedMessage(response, 'sender_rejected', text);
        if (/`to`/.test(message)) return refusedMessage(response, 'invalid_recipient', text);
        return refusedMessage(response, aboutContent.test(message) ? 'content_rejected' : 'rejected', text);
      case 'invalid_attachment':
      case 'security_error':
        return refusedMessage(response, 'content_rejected', text);
      // The first request with this key is still being processed. The next attempt gets its outcome.
      case 'concurrent_idempotent_requests':
        return { kind: 'deferred', response: apiReply(response, name) };
      // A different request with this key was accepted, perhaps from an earlier version of Carillon. A callback will
      // report the outcome.
      case 'invalid_idempotent_request':
        return { kind: 'unknown', reason: `${TITLE}: ${name}` };
      default:
        return null;
    }
  },
};

/** Tags come back in events. Client tags with characters that Resend does not accept are left out. */
function tagsOf({ reference, tags }: OutgoingMail): { name: string; value: string }[] {
  const fitting = Object.entries(tags).filter(([name, value]) => TAG_TEXT.test(name) && TAG_TEXT.test(value));
  return [[REFERENCE_TAG, reference] as const, ...fitting.slice(0, MAX_TAGS - 1)].map(([name, value]) => ({
    name,
    value,
  }));
}

/**
 * The idempotency key belongs to the message, not to the attempt: a message that may have arrived is handed over again
 * as the next attempt, and must not arrive twice. Resend remembers the keys of accepted requests for a day.
 */
async function submit(email: OutgoingMail, settings: ResendSettings, { config, egress }: ProviderDeps) {
  const refusal = partsRefusal(email, TITLE);
  if (refusal) return refusal;
  const body = bodyOf(email, config.MAIL_DOMAIN);
  const result = await requestResend(settings, egress, {
    method: 'POST',
    path: '/emails',
    headers: { 'idempotency-key': email.reference },
    body: filesOf(email).length > 0 ? await writeJson(body) : body,
  });
  return outcomeOf(result, dialect);
}

/** https://resend.com/docs/api-reference/emails/send-email. Its endpoint for batches takes no files. */
function bodyOf(email: OutgoingMail, mailDomain: string) {
  const { content } = email;
  const { from } = content;
  const replies = repliesTo(email).map(({ name, address }) => mailbox(name, address));
  const files = filesOf(email);
  return {
    from: mailbox(from.name, from.address),
    to: [email.to],
    subject: content.subject,
    ...(replies.length > 0 ? { reply_to: replies } : {}),
    ...(content.html ? { html: content.html } : {}),
    text: textOf(content),
    headers: headersOf(email, mailDomain),
    tags: tagsOf(email),
    ...(files.length > 0 ? { attachments: files.map(attachmentOf) } : {}),
  };
}

function attachmentOf(file: OutgoingFile) {
  const id = inlineId(file);
  return {
    filename: file.filename,
    content: base64OfFile(file),
    content_type: typeOf(file),
    ...(id === null ? {} : { content_id: id }),
  };
}

function createResendProvider(settings: ResendSettings, deps: NamedProviderDeps): EmailProvider {
  const spacing = createSpacing(settings.requests_per_second);
  return createApiProvider(
    'resend',
    deps.config,
    (email: OutgoingMail) => submit(email, settings, deps),
    spacing,
  );
}

async function check(settings: ResendSettings, { egress }: ProviderDeps): Promise<string | null> {
  const result = await requestResend(settings, egress, { method: 'GET', path: '/domains?limit=1' });
  if (result.kind !== 'response') return `${TITLE}: ${result.reason}`;
  if (result.status === 200) {
    const tracking = resendTrackingProblem(settings, egress);
    return tracking.catch((error: unknown) => `${TITLE}: ${(error as Error).message}`);
  }
  const name = resendErrorName(result);
  if (name === 'restricted_api_key')
    return 'the API key can only send emails; use one with full access, which can manage domains';
  if (result.status === 401 || name === 'invalid_api_key') return `${TITLE} refuses the API key`;
  return `${TITLE}: ${result.status} ${resendMessage(result)}`;
}

/** Resend. It takes the parts of a message, and idempotency keys. */
export const resend: ProviderKind<ResendSettings, 'email'> = {
  name: 'resend',
  channel: 'email',
  title: TITLE,
  settings: resendSettings,
  secrets: ['api_key', 'webhook_secret'],
  repeatable: true,
  create: createResendProvider,
  check,
  trackingProblem: (settings, { egress }) => resendTrackingProblem(settings, egress),
  domains: resendDomains,
  callbacks: resendCallbacks,
};
