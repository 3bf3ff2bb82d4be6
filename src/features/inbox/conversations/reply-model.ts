/** Statements of answers. */
import type { BrandScope } from '../../../platform/db/model.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { ConversationRow } from './model.ts';

/** The inbox that an answer is sent from. */
export interface ReplyingInbox {
  address: string;
  name: string | null;
  removed_at: Date | null;
}

export async function findReplyingInbox(
  db: Queryable,
  { accountId }: BrandScope,
  id: number,
): Promise<ReplyingInbox | null> {
  const { rows } = await db.query<ReplyingInbox>(
    'select address, name, removed_at from inboxes where account_id = $1 and id = $2',
    [accountId, id],
  );
  return rows[0] ?? null;
}

/** The mail that an answer answers. */
export interface AnsweredMail {
  from_address: string;
  sender_key: string | null;
  internet_id: string | null;
  /** The nearest first. */
  reference_ids: string[];
}

/** What decides about the recipient and the headers of an answer. */
export interface ReplyContext {
  /** Null: the conversation has no contact with an email address. */
  contact: { email: string; email_key: string } | null;
  /** The last mail that arrived; null: there is none. */
  last: AnsweredMail | null;
  /** The address fields of the newest messages. */
  fields: string[];
}

/** The number of newest messages that decide who an answer may go to. */
const MAX_MESSAGES = 200;

export async function readReplyContext(
  trx: Queryable,
  { id, brand_id: brandId, contact_id: contactId }: ConversationRow,
): Promise<ReplyContext> {
  const contacts = await trx.query<{ email: string; email_key: string }>(
    'select email, email_key from contacts where brand_id = $1 and id = $2 and email_key is not null',
    [brandId, contactId],
  );
  const mails = await trx.query<AnsweredMail>(
    `select from_address, sender_key, internet_id, reference_ids from conversation_messages
     where conversation_id = $1 and direction = 'inbound' order by id desc limit 1`,
    [id],
  );
  const thread = await trx.query<{ field: string }>(
    `select distinct f.field
     from (select * from conversation_messages where conversation_id = $1 order by id desc limit ${MAX_MESSAGES}) m
     cross join unnest(array[m.from_address, m.reply_to] || m.to_addresses || m.cc_addresses) as f (field)
     where f.field is not null`,
    [id],
  );
  return {
    contact: contacts.rows[0] ?? null,
    last: mails.rows[0] ?? null,
    fields: thread.rows.map(({ field }) => field),
  };
}

export interface SentReply {
  messageId: number;
  from: string;
  to: string;
  toKey: string;
  subject: string;
}

/** Adds an answer to a locked conversation. @returns the id of the conversation message */
export async function insertReply(
  trx: Queryable,
  conversation: ConversationRow,
  { messageId, from, to, toKey, subject }: SentReply,
): Promise<number> {
  const { rows } = await trx.query<{ id: number }>(
    `with changed as (
       update conversations set last_message_at = now(), updated_at = now(),
         participants = case when $7 = any(participants) then participants else participants || $7 end
       where id = $3)
     insert into conversation_messages (account_id, brand_id, conversation_id, inbox_id, direction, message_id,
       from_address, to_addresses, recipient, subject, arrived_at)
     values ($1, $2, $3, $4, 'outbound', $5, $6, array[$8], $7, $9, now()) returning id`,
    [
      conversation.account_id,
      conversation.brand_id,
      conversation.id,
      conversation.inbox_id,
      messageId,
      from,
      toKey,
      to,
      subject,
    ],
  );
  return rows[0]?.id ?? 0;
}
