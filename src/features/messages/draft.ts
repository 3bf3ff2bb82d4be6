import { type EmailAddress, parseEmailAddress } from '../../delivery/addresses/email.ts';
import { parsePhone } from '../../delivery/addresses/phone.ts';
import { sandboxAddress } from '../../delivery/sender-identity.ts';
import { countSegments } from '../../delivery/sms-segments.ts';
import type { SmsSender } from '../../delivery/sms-senders.ts';
import type { NewMessage } from '../../delivery/write-messages.ts';
import { type ErrorCode, invalid, type ValidationErrors } from '../../errors.ts';
import { isTestCaller, type Tenant } from '../../platform/auth/tenant.ts';
import {
  malformedHeaderErrors,
  malformedTagErrors,
  reservedHeaderErrors,
  reservedTagErrors,
} from './headers-and-tags.ts';
import type { SendMessageBody } from './schema.ts';

const MAX_SEGMENTS = 10;

/** A message that has passed every rule that the request alone can break, ready to be written. */
export type MessageDraft = Omit<NewMessage, 'id' | 'idempotency_key'>;

/** Collects errors. Its code is more specific than `validation_error` only if there is no ordinary error. */
class Problems {
  readonly errors: ValidationErrors = {};
  #code: ErrorCode | null = null;

  add(errors: ValidationErrors, code: ErrorCode = 'validation_error'): void {
    for (const [field, messages] of Object.entries(errors)) {
      this.errors[field] = [...(this.errors[field] ?? []), ...messages];
      if (this.#code === null || code === 'validation_error') this.#code = code;
    }
  }

  throwIfAny(): void {
    if (this.#code !== null) throw invalid(this.errors, this.#code);
  }
}

function address(problems: Problems, field: string, text: string | undefined): EmailAddress | null {
  if (text === undefined) return null;
  const parsed = parseEmailAddress(text);
  if (!('error' in parsed)) return parsed;
  problems.add({ [field]: [parsed.error] });
  return null;
}

/**
 * The sender, given as `from` or `from_email`. Until domains can be registered, only the sandbox address is allowed.
 */
function sender(problems: Problems, body: SendMessageBody, allowed: string): EmailAddress | null {
  const from = address(problems, 'from', body.from);
  const fromEmail = address(problems, 'from_email', body.from_email);
  if (from && fromEmail && from.key !== fromEmail.key) {
    problems.add({ from_email: ['differs from `from`; give only one of them'] });
  }
  for (const [field, given] of [
    ['from', from],
    ['from_email', fromEmail],
  ] as const) {
    if (given && given.key !== allowed) {
      problems.add({ [field]: ['is not a verified sender of this brand'] }, 'sender_not_verified');
    }
  }
  return from ?? fromEmail;
}

function checkHeadersAndTags(problems: Problems, { headers = {}, tags = {} }: SendMessageBody): void {
  problems.add(malformedHeaderErrors(headers));
  problems.add(malformedTagErrors(tags));
  problems.add(reservedHeaderErrors(headers), 'reserved_header');
  problems.add(reservedTagErrors(tags), 'reserved_tag');
}

/** Drops a blank part, because mail clients would show it instead of the other part. */
function unlessBlank(content: string | undefined): string | null {
  return content === undefined || content.trim() === '' ? null : content;
}

function emailDraft(
  problems: Problems,
  tenant: Tenant,
  body: SendMessageBody,
  mailDomain: string,
): MessageDraft {
  const to = address(problems, 'to', body.to);
  const sandbox = sandboxAddress(tenant.accountId, mailDomain);
  const from = sender(problems, body, sandbox);
  address(problems, 'reply_to', body.reply_to);
  checkHeadersAndTags(problems, body);
  if (body.template_id !== undefined)
    problems.add({ template_id: ['is not the id of a template of this brand'] });
  return {
    ...base(tenant, body),
    to_address: body.to.trim(),
    to_key: to?.key ?? '',
    from_address: from === null ? null : (body.from ?? body.from_email ?? '').trim(),
    default_from: sandbox,
    reply_to: body.reply_to?.trim(),
    subject: body.subject,
    html: unlessBlank(body.html),
    text: unlessBlank(body.body),
    headers: body.headers,
    tags: body.tags,
    tracking: body.tracking,
  };
}

function smsDraft(
  problems: Problems,
  tenant: Tenant,
  body: SendMessageBody,
  sender: SmsSender | null,
): MessageDraft {
  const phone = parsePhone(body.to);
  if ('error' in phone) problems.add({ to: [phone.error] });
  const text = body.body ?? '';
  const { segments } = countSegments(text);
  if (segments > MAX_SEGMENTS) {
    problems.add({ body: [`needs ${segments} segments; the maximum is ${MAX_SEGMENTS}`] });
  }
  const to = 'error' in phone ? '' : phone.e164;
  return {
    ...base(tenant, body),
    to_address: to,
    to_key: to,
    from_address: sender?.from,
    provider_id: sender?.providerId,
    text,
    segments,
  };
}

function base({ accountId, brandId, actor }: Tenant, { channel }: SendMessageBody) {
  return {
    account_id: accountId,
    brand_id: brandId,
    channel,
    status: 'queued' as const,
    test: isTestCaller(actor),
  };
}

/**
 * Checks a request against every rule of interface section 4.3 and makes a message of it.
 * @param mailDomain the domain of sandbox addresses
 * @param smsSender the brand's sender; null: the provider's default
 * @throws AppError that names every invalid field: validation_error, or sender_not_verified, reserved_header or
 *   reserved_tag if there is no ordinary error
 */
export function draftMessage(
  tenant: Tenant,
  body: SendMessageBody,
  mailDomain: string,
  smsSender: SmsSender | null,
): MessageDraft {
  const problems = new Problems();
  const draft =
    body.channel === 'email'
      ? emailDraft(problems, tenant, body, mailDomain)
      : smsDraft(problems, tenant, body, smsSender);
  problems.throwIfAny();
  return draft;
}
