import {
  type ApiDialect,
  createApiProvider,
  apiFault,
  checkedResponse,
  type ApiResponse,
  outcomeOf,
  refusedMessage,
  unverified,
} from '../../adapters/http-api.ts';
import { systemTagsOf } from '../../adapters/email-parts.ts';
import type { NamedProviderDeps, ProviderDeps, ProviderKind } from '../../adapters/kind.ts';
import {
  type FormField,
  type MailgunSettings,
  mailgunMessage,
  mailgunSettings,
  requestMailgun,
} from './api.ts';
import { mailgunCallbacks, REFERENCE_VARIABLE } from './callbacks.ts';
import { mailgunDomains } from './domains.ts';
import { type EmailProvider, isLetter, type OutgoingMail } from '../../adapters/port.ts';
import type { HandOverOutcome } from '../../../terms/hand-over-outcome.ts';

const TITLE = 'Mailgun';

/** Switches Mailgun's own tracking off, which would rewrite links and add a pixel. */
const TRACKING_OFF: readonly FormField[] = [
  ['o:tracking', 'no'],
  ['o:tracking-clicks', 'no'],
  ['o:tracking-opens', 'no'],
];

/** The message is too large, or Mailgun refuses one of its files. */
const aboutContent = /too (?:large|big|long)|exceed|attachment/i;

function accepted(response: ApiResponse): HandOverOutcome {
  const { id } = (response.json ?? {}) as { id?: unknown };
  if (typeof id !== 'string') return { kind: 'unknown', reason: `${TITLE}: the response has no id` };
  // Events contain the id without angle brackets.
  const providerMessageId = id.replace(/^<|>$/g, '');
  return { kind: 'accepted', providerMessageId, response: String(response.status), delivered: false };
}

/**
 * Mailgun has no error codes, only texts. An unknown or unverified domain is not a fault, because a fault would stop
 * the mail of other domains, too.
 */
const dialect: ApiDialect = {
  title: TITLE,
  repeatable: false,
  accepted,
  verdict(response) {
    const message = mailgunMessage(response);
    switch (response.status) {
      case 400:
        if (/\bto\b.{0,40} is not a valid address/i.test(message))
          return refusedMessage(response, 'invalid_recipient', message);
        if (/\bfrom\b.{0,40} is not a valid address/i.test(message))
          return refusedMessage(response, 'sender_rejected', message);
        return refusedMessage(
          response,
          aboutContent.test(message) ? 'content_rejected' : 'rejected',
          message,
        );
      case 403:
        if (/domain .{0,300}(?:unverified|requires dns)/i.test(message)) return unverified(response, message);
        return /domain .{0,300}test purposes/i.test(message)
          ? refusedMessage(response, 'sender_rejected', message)
          : null;
      case 404:
        return /domain not found/i.test(message)
          ? unverified(response, message)
          : apiFault(response, dialect);
    }
    return null;
  },
};

/** Variables are visible to recipients in X-Mailgun-Variables: the client's tags stay here, and only our ids go there. */
async function submit(email: OutgoingMail, settings: MailgunSettings, { egress }: ProviderDeps) {
  const { domain } = email.content.from;
  const result = await requestMailgun(settings, egress, {
    method: 'POST',
    path: `/v3/${encodeURIComponent(domain)}/messages.mime`,
    form: [
      ['to', email.to],
      [`v:${REFERENCE_VARIABLE}`, email.reference],
      ...systemTagsOf(email).map(([name, value]): FormField => [`v:${name}`, value]),
      ...TRACKING_OFF,
      ['message', isLetter(email) ? email.built : email.built.data],
    ],
  });
  return outcomeOf(result, dialect);
}

function createMailgunProvider(settings: MailgunSettings, deps: NamedProviderDeps): EmailProvider {
  return createApiProvider('mailgun', deps.config, (email: OutgoingMail) => submit(email, settings, deps));
}

async function check(settings: MailgunSettings, { egress }: ProviderDeps): Promise<string | null> {
  const result = await requestMailgun(settings, egress, { method: 'GET', path: '/v4/domains?limit=1' });
  const credentials = `the API key; it must be an API key of the account, in the region ${settings.region}`;
  const checked = checkedResponse(result, {
    title: TITLE,
    refused: { statuses: [401, 403], credentials },
    words: mailgunMessage,
  });
  return typeof checked === 'string' ? checked : null;
}

/** Mailgun. It takes complete messages, and has no idempotency keys. */
export const mailgun: ProviderKind<MailgunSettings, 'email'> = {
  name: 'mailgun',
  channel: 'email',
  title: TITLE,
  settings: mailgunSettings,
  secrets: ['api_key', 'webhook_signing_key'],
  repeatable: false,
  create: createMailgunProvider,
  check,
  domains: mailgunDomains,
  callbacks: mailgunCallbacks,
};
