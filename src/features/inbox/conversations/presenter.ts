import { isDisplayed } from '../../../platform/storage/file.ts';
import type { HtmlSanitizer } from './html/sanitizer.ts';
import type { AttachmentRow, ConversationMessageRow } from './message-model.ts';
import type { ConversationRow } from './model.ts';
import type { Conversation, ConversationAttachment, ConversationMessage } from './schema.ts';

export function presentConversation(row: ConversationRow): Conversation {
  return {
    id: row.id,
    inbox_id: row.inbox_id,
    contact_id: row.contact_id,
    subject: row.subject,
    status: row.status,
    assignee_id: row.assignee_id,
    unread_count: row.unread_count,
    linked_conversation_id: row.linked_conversation_id,
    last_message_at: row.last_message_at.toISOString(),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

function presentAttachment(row: AttachmentRow): ConversationAttachment {
  return {
    id: row.id,
    filename: row.filename,
    content_type: row.content_type,
    size: row.size,
    scanned: row.scan_status === 'clean',
    scan: { status: row.scan_status, reason: row.scan_reason },
  };
}

/** The images of a message that its HTML may show, by content id. */
function imagesOf({ id, conversation_id: conversationId, attachments }: ConversationMessageRow) {
  const path = `/v1/my/conversations/${conversationId}/messages/${id}/attachments`;
  return new Map(
    attachments.flatMap((row): [string, string][] => {
      const isShown =
        row.scan_status === 'clean' && row.storage_key !== null && isDisplayed(row.content_type);
      return row.content_id !== null && isShown ? [[row.content_id, `${path}/${row.id}`]] : [];
    }),
  );
}

/** Whether a message that has arrived can be fetched as it did. If a file in it was infected, so is the whole. */
export const hasRaw = (row: ConversationMessageRow): boolean =>
  row.conversation_id !== null &&
  row.raw_key !== null &&
  row.attachments.every(({ scan_status: status }) => status !== 'infected');

const NO_IMAGES: ReadonlyMap<string, string> = new Map();

/**
 * Presents a message. Its HTML is made harmless, even that of outbound messages.
 * @throws AppError rate_limited or unavailable if the HTML cannot be read now
 */
export async function presentMessage(
  sanitizer: Pick<HtmlSanitizer, 'sanitize'>,
  row: ConversationMessageRow,
): Promise<ConversationMessage> {
  const images = row.conversation_id === null ? NO_IMAGES : imagesOf(row);
  const { authentication: found, quarantine } = row;
  return {
    id: row.id,
    conversation_id: row.conversation_id,
    inbox_id: row.inbox_id,
    direction: row.direction,
    message_id: row.message_id,
    status: row.status,
    from: row.from_address,
    to: row.to_addresses,
    cc: row.cc_addresses,
    reply_to: row.reply_to,
    date: row.date_header?.toISOString() ?? null,
    message_id_header: row.internet_id,
    raw_available: hasRaw(row),
    subject: row.subject,
    text: row.text,
    html: row.html === null ? null : await sanitizer.sanitize(row.account_id, row.html, images),
    truncated: row.truncated,
    auto_submitted: row.auto_submitted,
    authentication: found && {
      spf: found.spf,
      dkim: found.dkim,
      dmarc: found.dmarc,
      arc: found.arc,
      aligned: found.aligned,
    },
    quarantine: quarantine && {
      reason: quarantine.reason,
      detail: quarantine.detail,
      released_at: quarantine.released_at,
    },
    attachments: row.attachments.map(presentAttachment),
    ...(row.files.length > 0 ? { files: row.files } : {}),
    received_at: row.received_at.toISOString(),
    repeated_count: row.repeated_count,
    last_repeated_at: row.last_repeated_at?.toISOString() ?? null,
  };
}
