/** Statements of conversation messages and their attachments. */
import type { MessageStatus } from '../../../delivery/terms/message.ts';
import type { BrandScope } from '../../../platform/db/model.ts';
import { countRows, type Page, type RowCount, type SizedItem } from '../../../platform/db/paging.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { MailAuthentication, QuarantineReason } from '../mail/mail.ts';
import type { ScanStatus } from './schema.ts';

export interface AttachmentRow {
  id: number;
  filename: string;
  content_type: string;
  size: number;
  content_id: string | null;
  /** Null: removed. */
  storage_key: string | null;
  scan_status: ScanStatus;
  scan_reason: string | null;
}

/** The column `quarantine`. */
export interface QuarantineColumn {
  reason: QuarantineReason;
  detail: string | null;
  /** ISO 8601. */
  at: string;
  released_at: string | null;
}

/** A row of `conversation_messages`, with its attachments. If it is outbound, with the message that sends it. */
export interface ConversationMessageRow {
  id: number;
  account_id: number;
  inbox_id: number;
  conversation_id: number | null;
  direction: 'inbound' | 'outbound';
  message_id: number | null;
  from_address: string;
  to_addresses: string[];
  cc_addresses: string[];
  reply_to: string | null;
  date_header: Date | null;
  internet_id: string | null;
  /** The blob with the mail as it arrived; null: removed, or outbound. */
  raw_key: string | null;
  subject: string | null;
  text: string | null;
  html: string | null;
  truncated: boolean;
  auto_submitted: boolean;
  authentication: MailAuthentication | null;
  quarantine: QuarantineColumn | null;
  arrived_at: Date | null;
  received_at: Date;
  repeated_count: number;
  last_repeated_at: Date | null;
  status: MessageStatus | null;
  attachments: AttachmentRow[];
  /** Of an outbound message. */
  files: SentFile[];
}

/** A file of an outbound message. */
export interface SentFile {
  /** Its place in the message, from 1. */
  n: number;
  filename: string;
  content_type: string;
  /** Bytes. */
  size: number;
}

/** SQL: what an outbound message contains, for as long as its content is kept. That of one with files is a letter. */
const SENT = `left join lateral (
    select m.status, m.letter_id, coalesce(s.text, l.text) as text, coalesce(s.html, l.html) as html
    from messages m left join message_contents s on s.message_id = m.id
    left join lateral (select w.text, w.html from letters w where w.id = m.letter_id offset 0) l on true
    where cm.direction = 'outbound' and m.id = cm.message_id and m.brand_id = cm.brand_id offset 0) sent on true`;

const ATTACHMENTS = `array(
    select json_build_object('id', a.id, 'filename', a.filename, 'content_type', a.content_type, 'size', a.size,
      'content_id', a.content_id, 'storage_key', a.storage_key, 'scan_status', a.scan_status, 'scan_reason', a.scan_reason)
    from conversation_attachments a where a.conversation_message_id = cm.id order by a.id)`;

const FILES = `array(
    select json_build_object('n', f.n, 'filename', f.filename, 'content_type', f.content_type, 'size', f.size)
    from message_attachments f where f.message_id = sent.letter_id order by f.n)`;

const SELECT = `select cm.id, cm.account_id, cm.inbox_id, cm.conversation_id, cm.direction, cm.message_id, cm.from_address,
    cm.to_addresses, cm.cc_addresses, cm.reply_to, cm.date_header, cm.internet_id, cm.raw_key, cm.subject, coalesce(cm.text, sent.text) as text, coalesce(cm.html, sent.html) as html,
    cm.truncated, cm.auto_submitted, cm.authentication, cm.quarantine, cm.arrived_at, cm.received_at,
    cm.repeated_count, cm.last_repeated_at, sent.status, ${ATTACHMENTS} as attachments,
    ${FILES} as files
  from conversation_messages cm ${SENT}`;

const BYTES = `coalesce(octet_length(coalesce(cm.text, sent.text)), 0) + coalesce(octet_length(coalesce(cm.html, sent.html)), 0)`;

/** SQL: the messages of a brand that are in quarantine. */
const IN_QUARANTINE = `cm.brand_id = $1 and cm.account_id = $2 and cm.quarantine is not null and cm.arrived_at is null
    and cm.quarantine->>'released_at' is null`;

/** @param where trusted SQL about `cm` */
async function findItems(
  db: Queryable,
  where: string,
  values: unknown[],
  page: Page,
): Promise<{ items: SizedItem[]; count: RowCount }> {
  const below = page.after === null ? '' : `and cm.id < ${page.after}`;
  const [{ rows: items }, count] = await Promise.all([
    db.query<SizedItem>(
      `select cm.id, ${BYTES} as bytes
       from (select cm.* from conversation_messages cm where ${where} ${below}
         order by cm.id desc limit ${page.limit} offset ${page.offset}) cm ${SENT} order by cm.id desc`,
      values,
    ),
    countRows(db, `conversation_messages cm where ${where}`, values),
  ]);
  return { items, count };
}

/** Finds the messages of a conversation, newest first. */
export function findMessageItems(db: Queryable, { brandId }: BrandScope, conversationId: number, page: Page) {
  const where = 'cm.conversation_id = $1 and cm.brand_id = $2';
  return findItems(db, where, [conversationId, brandId], page);
}

/** Finds the messages in quarantine, newest first. */
export function findQuarantineItems(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  { inboxId, reason }: { inboxId: number | undefined; reason: QuarantineReason | undefined },
  page: Page,
) {
  const where = `${IN_QUARANTINE} and ($3::bigint is null or cm.inbox_id = $3)
    and ($4::text is null or cm.quarantine->>'reason' = $4)`;
  const values = [brandId, accountId, inboxId ?? null, reason ?? null];
  return findItems(db, where, values, page);
}

/** @returns the messages of the brand among `ids`, newest first */
export async function findMessages(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  ids: readonly number[],
): Promise<ConversationMessageRow[]> {
  const { rows } = await db.query<ConversationMessageRow>(
    `${SELECT} where cm.id = any($3) and cm.account_id = $1 and cm.brand_id = $2 order by cm.id desc`,
    [accountId, brandId, ids],
  );
  return rows;
}

/** @returns null unless the conversation of the brand has such a message */
export async function findMessageOf(
  db: Queryable,
  scope: BrandScope,
  conversationId: number,
  id: number,
): Promise<ConversationMessageRow | null> {
  const [row] = await findMessages(db, scope, [id]);
  return row?.conversation_id === conversationId ? row : null;
}

/** @returns null unless the message of the conversation has such an attachment */
export async function findAttachment(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  ids: { conversationId: number; messageId: number; id: number },
): Promise<AttachmentRow | null> {
  const { rows } = await db.query<AttachmentRow>(
    `select a.id, a.filename, a.content_type, a.size, a.content_id, a.storage_key, a.scan_status, a.scan_reason
     from conversation_attachments a join conversation_messages cm on cm.id = a.conversation_message_id
     where a.id = $5 and cm.id = $4 and cm.conversation_id = $3 and cm.account_id = $1 and cm.brand_id = $2`,
    [accountId, brandId, ids.conversationId, ids.messageId, ids.id],
  );
  return rows[0] ?? null;
}
