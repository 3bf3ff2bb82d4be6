import { parseEmailAddress } from '../../../delivery/terms/addresses/email.ts';
import { withoutTag } from '../../../delivery/terms/channels/recipient.ts';
import { createEvent, type PublishedEvent } from '../../../platform/events/define.ts';
import { cutUtf8 } from '../../../platform/input/cut-utf8.ts';
import { inboxEvents } from '../events.ts';
import type { AnsweredMessage } from './answered-messages.ts';
import { type ArrivingMail, MAX_EVENT_TEXT_BYTES } from './arriving-mails.ts';

/** The address of the inbox, with the tag that the sender added. A return path, or an alias of it, is not shown. */
function addressedTo({ recipient, inbox_address: own, inbox_address_key: ownKey }: ArrivingMail): string {
  const parsed = recipient === null ? null : parseEmailAddress(recipient);
  if (parsed === null || 'error' in parsed) return own;
  return parsed.key === ownKey || withoutTag(parsed.key) === ownKey ? parsed.address : own;
}

/** Cuts a text for an event. */
function cut(text: string | null): { text: string | null; cut: boolean } {
  if (text === null) return { text, cut: false };
  const kept = cutUtf8(text, MAX_EVENT_TEXT_BYTES);
  return { text: kept, cut: kept.length < text.length };
}

/** The fields about the message that a mail answers. */
function answerFields(message: AnsweredMessage | null) {
  if (message === null) return { message_id: null, tags: {} };
  const fields = { message_id: message.id, tags: message.tags ?? {} };
  return message.idempotency_key === null ? fields : { ...fields, idempotency_key: message.idempotency_key };
}

/**
 * Describes a mail that has arrived (interface §6.3).
 * @param message the message that it answers; null: none
 */
export function receivedEvent(
  mail: ArrivingMail,
  conversationId: number,
  message: AnsweredMessage | null,
  occurredAt: Date,
): PublishedEvent {
  const text = cut(mail.text);
  const html = cut(mail.html);
  return createEvent(inboxEvents.received, {
    accountId: mail.account_id,
    brandId: mail.brand_id,
    occurredAt,
    data: {
      ...answerFields(message),
      from: mail.from_address,
      to: addressedTo(mail),
      reply_to: mail.reply_to,
      date: mail.date_header?.toISOString() ?? null,
      message_id_header: mail.internet_id,
      subject: mail.subject,
      text: text.text,
      html: html.text,
      truncated: mail.truncated || text.cut || html.cut,
      auto_submitted: mail.auto_submitted,
      attachments: mail.attachments,
      conversation_id: conversationId,
      conversation_message_id: mail.id,
    },
  });
}
