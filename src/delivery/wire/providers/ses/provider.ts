import type { Egress } from '../../../../platform/egress/client.ts';
import { smtpUtf8Refusal } from '../../adapters/email-parts.ts';
import {
  type ApiDialect,
  apiFault,
  type ApiResponse,
  createApiProvider,
  outcomeOf,
  refusedMessage,
  unverified,
} from '../../adapters/http-api.ts';
import type { NamedProviderDeps, ProviderDeps, ProviderKind } from '../../adapters/kind.ts';
import { createSpacing } from '../../adapters/spacing.ts';
import { type EmailProvider, isLetter, type OutgoingMail } from '../../adapters/port.ts';
import { base64OfMessage, writeJson } from '../../adapters/request-body.ts';
import type { HandOverOutcome } from '../../../terms/hand-over-outcome.ts';
import { requestSes, sesErrorCode, sesErrorMessage, sesSettings, type SesSettings } from './api.ts';
import { sesCallbacks } from './callbacks.ts';
import { sesDomains } from './domains.ts';
import { REFERENCE_TAG } from './events.ts';
import { askSes, enabledDestinations, sesTrackingProblem } from './tracking.ts';

const TITLE = 'Amazon SES';
const MAX_TAGS = 50;
const TAG_TEXT = /^[A-Za-z0-9_-]{1,256}$/;

/** Errors that say nothing about the message (https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html). */
const faults = new Set([
  'AccountSuspended',
  'SendingPaused',
  'LimitExceeded',
  'TooManyRequests',
  'Throttling',
  'NotFound',
  'RequestTimeTooSkewed',
  'ServiceUnavailable',
]);

const badRecipient =
  /^(?:missing final '@domain'|local address contains|domain (?:contains|starts|ends)|illegal address)/i;

/** The message is too large, or SES refuses the type of one of its files. */
const aboutContent = /message length|too large|illegal (?:filename|content)|attachment/i;

function accepted(response: ApiResponse): HandOverOutcome {
  const { MessageId: id } = (response.json ?? {}) as { MessageId?: unknown };
  if (typeof id !== 'string') return { kind: 'unknown', reason: `${TITLE}: the response has no MessageId` };
  return { kind: 'accepted', providerMessageId: id, response: String(response.status), delivered: false };
}

function isUnverified(code: string, message: string): boolean {
  if (code === 'MailFromDomainNotVerified') return true;
  return code === 'MessageRejected' && /not verified|failed the check/i.test(message);
}

const dialect: ApiDialect = {
  title: TITLE,
  repeatable: false,
  accepted,
  errorCode: sesErrorCode,
  verdict(response) {
    const message = sesErrorMessage(response);
    const code = sesErrorCode(response);
    const text = `${code} ${message}`;
    if (faults.has(code)) return apiFault(response, dialect);
    if (isUnverified(code, message)) return unverified(response, text);
    if (code === 'MessageRejected') return refusedMessage(response, 'content_rejected', text);
    if (code !== 'BadRequest') return null;
    if (badRecipient.test(message)) return refusedMessage(response, 'invalid_recipient', text);
    return refusedMessage(response, aboutContent.test(message) ? 'content_rejected' : 'rejected', text);
  },
};

/** Tags come back in events. Client tags with characters that SES does not accept are left out. */
function tagsOf({ reference, tags }: OutgoingMail) {
  const fitting = Object.entries(tags).filter(([name, value]) => TAG_TEXT.test(name) && TAG_TEXT.test(value));
  return [[REFERENCE_TAG, reference], ...fitting.slice(0, MAX_TAGS - 1)].map(([Name, Value]) => ({
    Name,
    Value,
  }));
}

async function submit(email: OutgoingMail, settings: SesSettings, { egress }: ProviderDeps) {
  const refusal = smtpUtf8Refusal(email, TITLE);
  if (refusal) return refusal;
  const result = await requestSes(settings, egress, {
    method: 'POST',
    path: '/v2/email/outbound-emails',
    body: isLetter(email)
      ? await writeJson(bodyOf(email, base64OfMessage(email.built), settings))
      : bodyOf(email, email.built.data.toString('base64'), settings),
  });
  return outcomeOf(result, dialect);
}

/** The recipients are those of `Destination`, whatever the message's header says. */
function bodyOf(email: OutgoingMail, data: unknown, settings: SesSettings) {
  return {
    Destination: { ToAddresses: [email.to] },
    Content: { Raw: { Data: data } },
    EmailTags: tagsOf(email),
    ...(settings.configuration_set ? { ConfigurationSetName: settings.configuration_set } : {}),
  };
}

function createSesProvider(settings: SesSettings, deps: NamedProviderDeps): EmailProvider {
  const rate = settings.requests_per_second;
  const spacing = rate === undefined ? undefined : createSpacing(rate);
  return createApiProvider(
    'ses',
    deps.config,
    (email: OutgoingMail) => submit(email, settings, deps),
    spacing,
  );
}

interface Account {
  SendingEnabled?: boolean;
  EnforcementStatus?: string;
}

/** Checks that bounces and complaints reach the topic. */
async function problemWithTopic(settings: SesSettings, egress: Egress): Promise<string | null> {
  const { configuration_set: set, topic_arn: topic } = settings;
  if (set === undefined || topic === undefined) return null;
  const all = await enabledDestinations(settings, egress, set);
  const events = all.filter(({ SnsDestination: sns }) => sns?.TopicArn === topic);
  const missing = ['DELIVERY', 'BOUNCE', 'COMPLAINT'].filter(
    (type) => !events.some(({ MatchingEventTypes: types }) => types?.includes(type)),
  );
  return missing.length === 0
    ? null
    : `the configuration set does not publish ${missing.join(', ')} to topic_arn`;
}

async function check(settings: SesSettings, { egress }: ProviderDeps): Promise<string | null> {
  try {
    const account = (await askSes(settings, egress, '/v2/email/account')) as Account;
    if (account.SendingEnabled === false) return 'sending is paused for the AWS account';
    if (account.EnforcementStatus === 'SHUTDOWN') return 'AWS has suspended sending for the account';
    return (await sesTrackingProblem(settings, egress)) ?? (await problemWithTopic(settings, egress));
  } catch (error) {
    return `${TITLE}: ${(error as Error).message}`;
  }
}

/** Amazon SES, API v2. It takes complete messages, and has no idempotency keys. */
export const ses: ProviderKind<SesSettings, 'email'> = {
  name: 'ses',
  channel: 'email',
  title: TITLE,
  settings: sesSettings,
  secrets: ['secret_access_key', 'session_token'],
  repeatable: false,
  create: createSesProvider,
  check,
  trackingProblem: (settings, { egress }) => sesTrackingProblem(settings, egress),
  domains: sesDomains,
  callbacks: sesCallbacks,
};
