import { type EmailAddress, parseEmailAddress } from '../../delivery/addresses/email.ts';
import { parsePhone } from '../../delivery/addresses/phone.ts';
import type { BrandSenders, SenderIdentity } from '../../delivery/sender-identity.ts';
import { countSegments } from '../../delivery/sms-segments.ts';
import type { SmsSender } from '../../delivery/sms-senders.ts';
import type { NewMessage } from '../../delivery/write-messages.ts';
import { Problems } from '../../errors.ts';
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

function address(problems: Problems, field: string, text: string | undefined): EmailAddress | null {
  if (text === undefined) return null;
  const parsed = parseEmailAddress(text);
  if (!('error' in parsed)) return parsed;
  problems.add({ [field]: [parsed.error] });
  return null;
}

interface Sender {
  /** null: the request names none. */
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

/** Drops a blank part, because mail clients would show it instead of the other part. */
function unlessBlank(content: string | undefined): string | null {
  return content === undefined || content.trim() === '' ? null : content;
}

function emailDraft(
  problems: Problems,
  tenant: Tenant,
  body: SendMessageBody,
  senders: BrandSenders,
): MessageDraft {
  const to = address(problems, 'to', body.to);
  const { address: from, identity } = sender(problems, body, senders);
  address(problems, 'reply_to', body.reply_to);
  checkHeadersAndTags(problems, body);
  if (body.template_id !== undefined)
    problems.add({ template_id: ['is not the id of a template of this brand'] });
  return {
    ...base(tenant, body),
    to_address: body.to.trim(),
    to_key: to?.key ?? '',
    from_address: from === null ? null : (body.from ?? body.from_email ?? '').trim(),
    default_from: senders.defaultAddress,
    ...(identity === 'sandbox' ? {} : { domain_id: identity.domainId, provider_id: identity.providerId }),
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
 * @param senders of an email: those of the tenant's brand
 * @param smsSender of an SMS: the brand's sender; null: the provider's default
 * @throws AppError that names every invalid field: validation_error, or sender_not_verified, reserved_header or
 *   reserved_tag if there is no ordinary error
 */
export function draftMessage(
  tenant: Tenant,
  body: SendMessageBody,
  senders: BrandSenders | null,
  smsSender: SmsSender | null,
): MessageDraft {
  const problems = new Problems();
  const draft = senders
    ? emailDraft(problems, tenant, body, senders)
    : smsDraft(problems, tenant, body, smsSender);
  problems.throwIfAny();
  return draft;
}
