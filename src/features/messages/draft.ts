import { type EmailAddress, parseEmailAddress } from '../../delivery/terms/addresses/email.ts';
import { parsePhone } from '../../delivery/terms/addresses/phone.ts';
import { isAnswer } from '../../delivery/ledger/accept/answered-mail.ts';
import type { BrandSenders, SenderIdentity } from '../../delivery/terms/sender-identity.ts';
import { countSegments, MAX_SEGMENTS } from '../../delivery/terms/texts/sms-segments.ts';
import type { SmsSender } from '../../delivery/terms/sms-senders.ts';
import type { NewMessage } from '../../delivery/ledger/accept/new-message.ts';
import { AppError, Problems, type ValidationErrors } from '../../errors.ts';
import { isTestCaller, sendKeyOf, type Tenant } from '../../platform/auth/tenant.ts';
import {
  malformedHeaderErrors,
  malformedTagErrors,
  reservedHeaderErrors,
  reservedTagErrors,
} from './headers-and-tags.ts';
import type { ReadAttachments } from '../attachments/service.ts';
import { type EmailParts, type LetterDraft, letterOf, type MailParts } from './letter.ts';
import { recipientsOf, textsIn, threadHeaders } from './recipient-fields.ts';
import { senderOfTemplate, type TemplateMessage } from '../templates/service.ts';
import { readSchedule } from './schedule.ts';
import type { SendMessageBody } from './schema.ts';

/** A message that passed all checks of its request, ready to be written. Only limits can still refuse it. */
export type MessageDraft = Omit<NewMessage, 'id' | 'idempotency_key'>;

function address(problems: Problems, field: string, text: string | undefined): EmailAddress | null {
  if (text === undefined) return null;
  const parsed = parseEmailAddress(text);
  if (!('error' in parsed)) return parsed;
  problems.add({ [field]: [parsed.error] });
  return null;
}

interface Sender {
  /** Null: the request has none. */
  address: EmailAddress | null;
  identity: SenderIdentity | 'sandbox';
}

/** The sender, given as `from` or `from_email`, or the brand's default. */
function sender(problems: Problems, body: SendMessageBody, senders: BrandSenders): Sender {
  const from = address(problems, 'from', body.from);
  const fromEmail = address(problems, 'from_email', body.from_email);
  if (from && fromEmail && from.key !== fromEmail.key) {
    problems.add({ from_email: ['differs from `from`; give only one of them'] });
  }
  let identity: Sender['identity'] | undefined;
  for (const [field, given] of [
    ['from', from],
    ['from_email', fromEmail],
  ] as const) {
    if (!given) continue;
    const found = senders.resolve(given);
    identity ??= found ?? undefined;
    if (found === null)
      problems.add({ [field]: ['is not a verified sender of this brand'] }, 'sender_not_verified');
  }
  return { address: from ?? fromEmail, identity: identity ?? senders.defaultIdentity };
}

function checkHeadersAndTags(problems: Problems, { headers = {}, tags = {} }: SendMessageBody): void {
  problems.add(malformedHeaderErrors(headers));
  problems.add(malformedTagErrors(tags));
  problems.add(reservedHeaderErrors(headers), 'reserved_header');
  problems.add(reservedTagErrors(tags), 'reserved_tag');
}

/** Drops a blank part: mail clients would show it instead of the other part. */
function unlessBlank(content: string | null | undefined): string | null {
  return typeof content !== 'string' || content.trim() === '' ? null : content;
}

/** The longest subject of a message, as in the request. */
const MAX_SUBJECT = 998;

/** The subject and the parts of an email. What the request gives replaces what its template has. */
function contentOf(
  problems: Problems,
  body: SendMessageBody,
  template: TemplateMessage | null,
): Pick<MessageDraft, 'subject' | 'html' | 'text'> {
  const html = unlessBlank(body.html);
  const text = unlessBlank(body.body);
  // Only a mail may be blank, such as one that has a file alone.
  if (template === null) return { subject: body.subject, html, text: html === null ? (text ?? '\n') : text };
  const content = {
    subject: body.subject ?? template.subject,
    html: html ?? unlessBlank(template.html),
    // The template's text would not match the request's HTML.
    text: text ?? (html === null ? unlessBlank(template.text) : null),
  };
  if ((content.subject ?? '').trim() === '')
    problems.add({ subject: ['is required: the template has none'] });
  else if ((content.subject ?? '').length > MAX_SUBJECT) {
    problems.add({ template_id: [`renders a subject of more than ${MAX_SUBJECT} characters`] });
  }
  if (content.html === null && content.text === null) problems.add({ template_id: ['renders to nothing'] });
  return content;
}

/**
 * The sender that the template names, if the request names none.
 * @returns null if the request's sender or the default applies
 */
function templateSender(
  problems: Problems,
  body: SendMessageBody,
  senders: BrandSenders,
  template: TemplateMessage | null,
): ReturnType<typeof senderOfTemplate> {
  if (template === null || body.from !== undefined || body.from_email !== undefined) return null;
  const found = senderOfTemplate(senders, template);
  if (found) return found;
  const message = `names a template whose sender ${template.fromEmail} is not a verified sender of this brand`;
  problems.add({ template_id: [message] }, 'sender_not_verified');
  return null;
}

function emailParts(
  problems: Problems,
  base: Base,
  body: SendMessageBody,
  senders: BrandSenders,
  template: TemplateMessage | null,
): EmailParts {
  const { recipients, errors } = recipientsOf(body);
  problems.add(errors);
  const { address: from, identity } = sender(problems, body, senders);
  const replyTo = textsIn('reply_to', body.reply_to).map(({ path, text }) => {
    address(problems, path, text);
    return text.trim();
  });
  checkHeadersAndTags(problems, body);
  const { in_reply_to: answered, references } = body;
  const answers = answered !== undefined || references !== undefined;
  const headers = answers ? { ...body.headers, ...threadHeaders(body) } : body.headers;
  const shared = {
    ...base,
    from_address: from === null ? null : (body.from ?? body.from_email ?? '').trim(),
    default_from: senders.defaultAddress,
    ...(identity === 'sandbox' ? {} : { domain_id: identity.domainId, provider_id: identity.providerId }),
    ...templateSender(problems, body, senders, template),
    reply_to: replyTo[0] ?? template?.replyTo,
    ...contentOf(problems, body, template),
    headers,
    ...(isAnswer(headers) ? { answers_mail: true as const } : {}),
    tags: body.tags,
    tracking: body.tracking,
  };
  return { shared, recipients, replyTo: replyTo.length > 1 ? replyTo : null };
}

/** What a request sends. */
export interface Drafted {
  /** The only message, or the lead of the letter, with the letter's content. */
  message: MessageDraft;
  /** Null: an ordinary message. */
  letter: LetterDraft | null;
}

/** Letters are sent in pieces, in which no line may begin with a dot. */
function dotErrors(headers: Record<string, string>): ValidationErrors {
  const names = Object.keys(headers).filter((name) => name.startsWith('.'));
  const message = 'must not begin with a dot if the email has files, several recipients or several reply_to';
  return Object.fromEntries(names.map((name) => [`headers.${name}`, [message]]));
}

function emailDraft(
  problems: Problems,
  parts: EmailParts,
  files: readonly { size: number }[],
  mail: MailParts | undefined,
): Drafted {
  const { address = '', key = '' } = parts.recipients[0] ?? {};
  const message = { ...parts.shared, to_address: address, to_key: key };
  const letter = letterOf(parts, files, mail);
  if (letter) problems.add(dotErrors(letter.letter.headers ?? {}));
  return { message, letter };
}

function smsDraft(
  problems: Problems,
  base: Base,
  body: SendMessageBody,
  sender: SmsSender | null,
  template: TemplateMessage | null,
): MessageDraft {
  const phone = parsePhone(String(body.to));
  if ('error' in phone) problems.add({ to: [phone.error] });
  const text = body.body ?? template?.text ?? '';
  const field = body.body === undefined ? 'template_id' : 'body';
  if (template !== null && text.trim() === '') problems.add({ template_id: ['renders to nothing'] });
  const { segments } = countSegments(text);
  if (segments > MAX_SEGMENTS) {
    problems.add({ [field]: [`needs ${segments} segments; the maximum is ${MAX_SEGMENTS}`] });
  }
  const to = 'error' in phone ? '' : phone.e164;
  return {
    ...base,
    to_address: to,
    to_key: to,
    from_address: sender?.from,
    provider_id: sender?.providerId,
    text,
    segments,
  };
}

/** What a message has, whatever its channel. */
type Base = ReturnType<typeof baseOf>;

function baseOf(
  problems: Problems,
  tenant: Tenant,
  { channel, scheduled_at: scheduledAt }: SendMessageBody,
  { template, contentDays }: { template: TemplateMessage | null; contentDays: number },
) {
  const { time, errors } = readSchedule(scheduledAt, contentDays);
  problems.add(errors);
  const sendKey = sendKeyOf(tenant);
  return {
    account_id: tenant.accountId,
    brand_id: tenant.brandId,
    channel,
    status: 'queued' as const,
    test: isTestCaller(tenant.actor),
    ...(template ? { template_id: template.templateId, content_version_id: template.versionId } : {}),
    ...(time ? { scheduled_at: time } : {}),
    ...(sendKey === null ? {} : { send_key_id: sendKey }),
  };
}

export interface DraftSources {
  /** Of an email: those of the tenant's brand; else null. */
  senders: BrandSenders | null;
  /** Of an SMS: the brand's sender; null: the provider's default. */
  smsSender: SmsSender | null;
  /** The rendered template of the request, or why it cannot be used; null: the request names none. */
  template: TemplateMessage | AppError | null;
  /** The files of an email, and what is wrong with them. */
  attachments: Pick<ReadAttachments, 'files' | 'problems'>;
  /** The setting MESSAGE_CONTENT_RETENTION_DAYS, which bounds how far ahead a message may be sent. */
  contentDays: number;
  /** Of an email that was submitted as a mail. */
  mail?: MailParts | undefined;
}

/**
 * Checks a request against every rule of interface section 4.3 and returns what it sends.
 * @throws AppError that names every invalid field: validation_error, or sender_not_verified, reserved_header or
 *   reserved_tag if there is no ordinary error
 */
export function draftMessage(
  tenant: Tenant,
  body: SendMessageBody,
  { senders, smsSender, template, attachments, contentDays, mail }: DraftSources,
): Drafted {
  const problems = new Problems();
  problems.add(attachments.problems);
  const rendered = template instanceof AppError ? null : template;
  if (template instanceof AppError) problems.add(template.validationErrors, template.code);
  const base = baseOf(problems, tenant, body, { template: rendered, contentDays });
  const drafted = senders
    ? emailDraft(problems, emailParts(problems, base, body, senders, rendered), attachments.files, mail)
    : { message: smsDraft(problems, base, body, smsSender, rendered), letter: null };
  problems.throwIfAny();
  return drafted;
}
