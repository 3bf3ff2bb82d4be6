/** Locks and reads the messages that are about to arrive. */
import type { Queryable } from '../../../platform/db/queryable.ts';

export interface ArrivingAttachment {
  id: number;
  filename: string;
  content_type: string;
  size: number;
  scanned: boolean;
}

/** A row of `conversation_messages` that has not arrived, with what its inbox says. */
export interface ArrivingMail {
  id: number;
  account_id: number;
  brand_id: number;
  inbox_id: number;
  inbox_address: string;
  inbox_address_key: string;
  create_contacts: boolean;
  /** The sent message at whose return path it arrived. */
  message_id: number | null;
  internet_id: string | null;
  reference_ids: string[];
  sender_key: string | null;
  sender_trusted: boolean;
  from_address: string;
  reply_to: string | null;
  date_header: Date | null;
  recipient: string | null;
  subject: string | null;
  /** Its first characters: at least as much as an event has. */
  text: string | null;
  /** Likewise. */
  html: string | null;
  truncated: boolean;
  auto_submitted: boolean;
  /** The id of its conversation if it begins one. */
  spare_conversation_id: number;
  attachments: ArrivingAttachment[];
}

/** Maximum size of `text` and `html` in an event, in bytes of UTF-8 (interface §8). */
export const MAX_EVENT_TEXT_BYTES = 64 * 1024;

/** Key space of the advisory locks of inboxes. Any fixed number that no other lock uses. */
const INBOX_LOCKS = 1_409_028;
/** The locks of two inboxes are the same only if there are billions of inboxes. */
const MAX_INBOX_LOCKS = 2 ** 31 - 1;

/**
 * Takes the locks of inboxes until the transaction ends, in ascending order. A transaction that adds a mail to an inbox
 * has its lock, so that two mails that begin the same conversation do not begin two. It is the first lock of a transaction.
 */
export async function lockInboxes(trx: Queryable, inboxIds: readonly number[]): Promise<void> {
  await trx.query({
    name: 'lock_inboxes',
    text: `select pg_advisory_xact_lock($1, l.lock) from unnest($2::integer[]) with ordinality as l (lock, place)
      order by l.place`,
    values: [
      INBOX_LOCKS,
      [...new Set(inboxIds.map((id) => id % MAX_INBOX_LOCKS))].sort((one, other) => one - other),
    ],
  });
}

/** Takes the locks of the inboxes of these messages, as {@link lockInboxes} does. */
export async function lockInboxesOf(trx: Queryable, ids: readonly number[]): Promise<void> {
  const { rows } = await trx.query<{ inbox_id: number }>(
    'select distinct inbox_id from conversation_messages where id = any($1)',
    [ids],
  );
  await lockInboxes(
    trx,
    rows.map((row) => row.inbox_id),
  );
}

// No text of so many characters fits into an event, so what is left out here would be cut anyway.
const lockSql = `
  select m.id, m.account_id, m.brand_id, m.inbox_id, i.address as inbox_address, i.address_key as inbox_address_key,
    i.create_contacts, m.message_id, m.internet_id, m.reference_ids, m.sender_key, m.sender_trusted, m.from_address,
    m.reply_to, m.date_header, m.recipient, m.subject, left(m.text, ${MAX_EVENT_TEXT_BYTES + 1}) as text,
    left(m.html, ${MAX_EVENT_TEXT_BYTES + 1}) as html, m.truncated, m.auto_submitted,
    nextval('conversations_id_seq') as spare_conversation_id,
    (select coalesce(json_agg(json_build_object('id', a.id, 'filename', a.filename, 'content_type', a.content_type,
        'size', a.size, 'scanned', a.scan_status = 'clean') order by a.id), '[]')
      from conversation_attachments a where a.conversation_message_id = m.id) as attachments
  from conversation_messages m join inboxes i on i.id = m.inbox_id
  where m.id = any($1) and m.arrived_at is null and m.direction = 'inbound'
  order by m.id for no key update of m`;

/** Locks those messages that have not arrived, in the order of their ids, and reads them. */
export async function lockArriving(trx: Queryable, ids: readonly number[]): Promise<ArrivingMail[]> {
  const { rows } = await trx.query<ArrivingMail>({
    name: 'lock_arriving_mails',
    text: lockSql,
    values: [ids],
  });
  return rows;
}
