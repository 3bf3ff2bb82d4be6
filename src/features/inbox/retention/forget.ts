import { clearedPage, type RemovalStep } from '../../contacts/service.ts';

/**
 * SQL: the conversations of a deleted contact: linked to it, or with one of its addresses. `$1`: the brand, `$2`: the
 * contact, `$3`: its addresses, `$4`: when it was deleted. An address that belongs to another contact now identifies that
 * contact's conversations.
 */
const CONVERSATIONS = `
  conversations c
  where c.brand_id = $1 and c.created_at <= $4 and (c.contact_id = $2 or c.participants && $3 and not exists (
    select 1 from contacts o where o.id = c.contact_id and o.brand_id = $1 and o.email_key = any($3)))`;

const deleteMessagesSql = `
  delete from conversation_messages where id = any(array(
    select m.id from conversation_messages m where m.conversation_id = any(array(select c.id from ${CONVERSATIONS}))
    order by m.id limit $5))`;

/** A message that has arrived meanwhile is deleted with its conversation. */
const deleteConversationsSql = `
  delete from conversations where id = any(array(
    select c.id from ${CONVERSATIONS} order by c.id limit $5))`;

/** Mail that has no conversation yet: in quarantine, or being scanned. */
const deleteWaitingSql = `
  delete from conversation_messages where id = any(array(
    select id from conversation_messages
    where brand_id = $1 and arrived_at is null and sender_key = any($2) and received_at <= $3
      and (quarantine is not null or engine_expected_by is not null)
    order by id limit $4))
  and arrived_at is null`;

/**
 * Deletes a page of the mail of a deleted contact: its conversations, and what it wrote that is in quarantine. The files
 * are removed soon after.
 */
export const forgetContactInInbox: RemovalStep = async (trx, contact, limit) => {
  const { brandId, contactId, addressKeys, requestedAt } = contact;
  const own = [brandId, contactId, addressKeys, requestedAt, limit];
  const messages = await trx.query(deleteMessagesSql, own);
  if ((messages.rowCount ?? 0) >= limit) return true;
  const conversations = await trx.query(deleteConversationsSql, own);
  const waiting = await trx.query(deleteWaitingSql, [brandId, addressKeys, requestedAt, limit]);
  return clearedPage([messages.rowCount, conversations.rowCount, waiting.rowCount], limit);
};
