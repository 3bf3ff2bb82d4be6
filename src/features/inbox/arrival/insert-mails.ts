/** Inserts mails that were read, with their attachments. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { MailAttachment, QuarantineReason } from '../mail/mail.ts';
import { SCAN_GRACE } from '../scan/workflow.ts';
import type { StoredMail } from './shared-attachments.ts';
import { markOf } from './take-mails.ts';

/** What happens to a mail next. */
export type Fate =
  | { kind: 'arrives' }
  | { kind: 'is_scanned' }
  | { kind: 'is_quarantined'; reason: QuarantineReason; detail: string };

export interface JudgedMail extends StoredMail {
  fate: Fate;
}

export interface InsertedMail extends JudgedMail {
  conversationMessageId: number;
}

const columns = {
  account_id: 'bigint',
  brand_id: 'bigint',
  inbox_id: 'bigint',
  message_id: 'bigint',
  internet_id: 'text',
  reference_ids: 'text[]',
  sender_key: 'text',
  sender_trusted: 'boolean',
  from_address: 'text',
  to_addresses: 'text[]',
  cc_addresses: 'text[]',
  reply_to: 'text',
  date_header: 'timestamptz',
  recipient: 'text',
  subject: 'text',
  text: 'text',
  html: 'text',
  truncated: 'boolean',
  auto_submitted: 'boolean',
  authentication: 'jsonb',
  raw_key: 'text',
  raw_size: 'integer',
  stored_bytes: 'bigint',
  scan_state: 'text',
  received_at: 'timestamptz',
};

const names = Object.keys(columns).join(', ');
const types = Object.entries(columns)
  .map(([name, type]) => `${name} ${type}`)
  .join(', ');

/** Remembers the mails, too. `$1`: the mails, numbered, `$2`: their attachments, with the numbers of their mails. */
const insertSql = `
  with input as materialized (
    select nextval('conversation_messages_id_seq') as id, i.*
    from json_to_recordset($1) as i (n integer, reason text, detail text, mark text, ${types}) order by i.n
  ), messages as (
    insert into conversation_messages (id, direction, ${names}, quarantine, engine_expected_by)
    select id, 'inbound', ${names},
      case when reason is not null then
        jsonb_build_object('reason', reason, 'detail', detail, 'at', now(), 'released_at', null) end,
      case when scan_state = 'pending' then now() + ${SCAN_GRACE} end
    from input order by id
  ), attachments as (
    insert into conversation_attachments (account_id, conversation_message_id, filename, content_type, size, content_id,
      inline, storage_key, scan_status, scan_reason)
    select i.account_id, i.id, a.filename, a.content_type, a.size, a.content_id, a.inline, a.storage_key, a.scan_status,
      a.scan_reason
    from json_to_recordset($2) as a (n integer, place integer, filename text, content_type text, size integer,
      content_id text, inline boolean, storage_key text, scan_status text, scan_reason text)
    join input i on i.n = a.n order by i.id, a.place
  ), remembered as (
    insert into inbox_digests (inbox_id, digest, conversation_message_id)
    select inbox_id, decode(mark, 'hex'), id from input where mark is not null order by inbox_id, mark
    on conflict (inbox_id, digest) do update
      set received_at = excluded.received_at, conversation_message_id = excluded.conversation_message_id
  )
  select id, n from input order by n`;

function messageRow({ claimed, read, fate, bytes }: JudgedMail, n: number) {
  const quarantine = fate.kind === 'is_quarantined' ? fate : { reason: null, detail: null };
  return {
    n,
    reason: quarantine.reason,
    detail: quarantine.detail,
    mark: markOf(read),
    account_id: claimed.account_id,
    brand_id: claimed.brand_id,
    inbox_id: claimed.inbox_id,
    message_id: claimed.answers_message_id,
    internet_id: read.internetId,
    reference_ids: read.referenceIds,
    sender_key: read.senderKey,
    // A report is not what its sender has written, so it says nothing about a contact and starts no flow.
    sender_trusted: read.senderKey !== null && read.authentication.aligned && !claimed.is_report,
    from_address: read.from,
    to_addresses: read.to,
    cc_addresses: read.cc,
    reply_to: read.replyTo,
    date_header: read.date,
    recipient: claimed.recipient,
    subject: read.subject,
    text: read.text,
    html: read.html,
    truncated: read.truncated,
    auto_submitted: read.autoSubmitted || claimed.is_report,
    authentication: read.authentication,
    raw_key: claimed.raw_key,
    raw_size: claimed.size,
    stored_bytes: bytes,
    scan_state: fate.kind === 'is_scanned' ? 'pending' : 'none',
    received_at: claimed.received_at,
  };
}

/** What is known about the scan of an attachment before it begins. */
function scanOf({ unscannable }: MailAttachment, fate: Fate, hasScanner: boolean) {
  if (unscannable !== null) return { scan_status: 'skipped', scan_reason: unscannable };
  if (!hasScanner) return { scan_status: 'skipped', scan_reason: 'no_scanner' };
  if (fate.kind !== 'is_scanned') return { scan_status: 'skipped', scan_reason: 'quarantined' };
  return { scan_status: 'pending', scan_reason: null };
}

function attachmentRows({ read, fate }: JudgedMail, n: number, hasScanner: boolean) {
  return read.attachments.map((attachment, place) => {
    const { scan_status, scan_reason } = scanOf(attachment, fate, hasScanner);
    return {
      n,
      place,
      filename: attachment.filename,
      content_type: attachment.contentType,
      size: attachment.size,
      content_id: attachment.contentId,
      inline: attachment.inline,
      storage_key: attachment.storageKey,
      scan_status,
      scan_reason,
    };
  });
}

/**
 * Inserts mails with their attachments, in one statement.
 * @param mails in the order in which they were accepted, and so in that of their new ids
 */
export async function insertMails(
  trx: Queryable,
  mails: readonly JudgedMail[],
  hasScanner: boolean,
): Promise<InsertedMail[]> {
  if (mails.length === 0) return [];
  const { rows } = await trx.query<{ id: number; n: number }>({
    name: 'insert_read_mails',
    text: insertSql,
    values: [
      JSON.stringify(mails.map(messageRow)),
      JSON.stringify(mails.flatMap((mail, n) => attachmentRows(mail, n, hasScanner))),
    ],
  });
  return rows.map(({ id, n }) => {
    return { ...(mails[n] as JudgedMail), conversationMessageId: id };
  });
}
