/** Deletes conversations and messages. Triggers note their files, which are removed soon after. */
import { notFound } from '../../../errors.ts';
import type { BrandScope } from '../../../platform/db/model.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { lockInboxes, lockInboxesOf } from '../arrival/arriving-mails.ts';
import { findConversation, lockConversation } from './model.ts';
import { presentConversation } from './presenter.ts';
import type { Conversation } from './schema.ts';

/**
 * Takes the locks of the inboxes of conversations, so that no mail arrives in them until the transaction ends. These locks
 * come before all others.
 */
export async function lockInboxesOfConversations(trx: Queryable, ids: readonly number[]): Promise<void> {
  const { rows } = await trx.query<{ inbox_id: number }>(
    'select distinct inbox_id from conversations where id = any($1)',
    [ids],
  );
  await lockInboxes(
    trx,
    rows.map((row) => row.inbox_id),
  );
}

/**
 * Deletes conversations with their messages.
 * @param trx has the locks of their inboxes: see {@link lockInboxesOfConversations}
 * @returns how many existed
 */
export async function deleteConversations(
  trx: Queryable,
  { accountId, brandId }: BrandScope,
  ids: readonly number[],
): Promise<number> {
  // Messages come before conversations, as everywhere.
  await trx.query(
    `delete from conversation_messages where account_id = $1 and brand_id = $2 and conversation_id = any($3)`,
    [accountId, brandId, ids],
  );
  const { rowCount } = await trx.query(
    'delete from conversations where account_id = $1 and brand_id = $2 and id = any($3)',
    [accountId, brandId, ids],
  );
  return rowCount ?? 0;
}

/** Deletes a conversation. @returns the conversation as it was @throws AppError not_found */
export async function deleteConversation(
  trx: Queryable,
  scope: BrandScope,
  id: number,
): Promise<Conversation> {
  await lockInboxesOfConversations(trx, [id]);
  const row = await findConversation(trx, scope, id);
  // A contact may be deleted meanwhile, with the conversation.
  if (!row || (await deleteConversations(trx, scope, [id])) === 0) throw notFound('conversation');
  return presentConversation(row);
}

/** After one of its messages was deleted: deletes the conversation if that was the last, or corrects its figures. */
const settleSql = `
  with remaining as materialized (
    select count(*) as messages, count(*) filter (where direction = 'inbound') as inbound,
      max(coalesce(arrived_at, received_at)) as last_at
    from conversation_messages where conversation_id = $1
  ), gone as (
    delete from conversations c using remaining r where c.id = $1 and r.messages = 0
  )
  update conversations c set unread_count = least(c.unread_count, r.inbound), last_message_at = r.last_at,
    updated_at = now()
  from remaining r where c.id = $1 and r.messages > 0`;

/**
 * Deletes a message of a conversation, and the conversation with its last message. An outbound message is still sent, and
 * stays among the messages of the brand.
 * @throws AppError not_found, also if the message belongs to another conversation
 */
export async function deleteConversationMessage(
  trx: Queryable,
  scope: BrandScope,
  conversationId: number,
  id: number,
): Promise<void> {
  await lockInboxesOf(trx, [id]);
  const { rowCount } = await trx.query(
    `delete from conversation_messages where account_id = $1 and brand_id = $2 and conversation_id = $3 and id = $4`,
    [scope.accountId, scope.brandId, conversationId, id],
  );
  if (rowCount === 0) throw notFound('message');
  // A reply that is being written is then seen by the next statement.
  await lockConversation(trx, scope, conversationId);
  await trx.query(settleSql, [conversationId]);
}
