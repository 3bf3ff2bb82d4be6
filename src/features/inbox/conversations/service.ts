import { invalid, notFound } from '../../../errors.ts';
import type { BrandScope } from '../../../platform/db/model.ts';
import type { Page, RowCount, SizedItem } from '../../../platform/db/paging.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { HtmlSanitizer } from './html/sanitizer.ts';
import { findMessageItems, findMessageOf, findMessages } from './message-model.ts';
import {
  type ConversationChange,
  findConversation,
  findConversations,
  isMember,
  updateConversation,
} from './model.ts';
import { presentConversation, presentMessage } from './presenter.ts';
import type {
  ChangeConversationBody,
  Conversation,
  ConversationMessage,
  ListConversationsQuery,
} from './schema.ts';

/** Conversations, the one with the newest message first. */
export async function listConversations(
  db: Queryable,
  scope: BrandScope,
  query: ListConversationsQuery,
  page: Page,
): Promise<{ conversations: Conversation[]; count: RowCount }> {
  const filters = {
    inboxId: query.inbox_id,
    contactId: query.contact_id,
    assigneeId: query.assignee_id,
    status: query.status,
    unread: query.unread === undefined ? undefined : query.unread === 'true',
    search: query.search,
  };
  const { rows, count } = await findConversations(db, scope, filters, page);
  return { conversations: rows.map(presentConversation), count };
}

/** @throws AppError not_found */
export async function getConversation(db: Queryable, scope: BrandScope, id: number): Promise<Conversation> {
  const row = await findConversation(db, scope, id);
  if (!row) throw notFound('conversation');
  return presentConversation(row);
}

async function update(db: Queryable, scope: BrandScope, id: number, change: ConversationChange) {
  const row = await updateConversation(db, scope, id, change);
  if (!row) throw notFound('conversation');
  return presentConversation(row);
}

/** @throws AppError not_found; validation_error if the assignee is not a user of the account */
export async function changeConversation(
  db: Queryable,
  scope: BrandScope,
  id: number,
  { status, assignee_id: assigneeId }: ChangeConversationBody,
): Promise<Conversation> {
  await getConversation(db, scope, id);
  if (typeof assigneeId === 'number' && !(await isMember(db, scope.accountId, assigneeId))) {
    throw invalid({ assignee_id: ['is not a user of the account'] });
  }
  return update(db, scope, id, { status, assigneeId });
}

/** Marks a conversation as read or unread. @throws AppError not_found */
export function markConversation(
  db: Queryable,
  scope: BrandScope,
  id: number,
  mark: 'read' | 'unread',
): Promise<Conversation> {
  return update(db, scope, id, { unreadCount: mark === 'read' ? 0 : 1 });
}

/** The messages of a page, newest first, without their texts. @throws AppError not_found */
export async function listMessages(
  db: Queryable,
  scope: BrandScope,
  conversationId: number,
  page: Page,
): Promise<{ items: SizedItem[]; count: RowCount }> {
  await getConversation(db, scope, conversationId);
  return findMessageItems(db, scope, conversationId, page);
}

export interface MessageDeps {
  db: Queryable;
  sanitizer: Pick<HtmlSanitizer, 'sanitize'>;
}

/** Presents some messages of a page, newest first. */
export async function presentMessages(
  { db, sanitizer }: MessageDeps,
  scope: BrandScope,
  ids: readonly number[],
): Promise<ConversationMessage[]> {
  const presented: ConversationMessage[] = [];
  // One at a time: each may take a while in a thread.
  for (const row of await findMessages(db, scope, ids)) presented.push(await presentMessage(sanitizer, row));
  return presented;
}

/** @throws AppError not_found, also if the message belongs to another conversation */
export async function getMessage(
  { db, sanitizer }: MessageDeps,
  scope: BrandScope,
  conversationId: number,
  id: number,
): Promise<ConversationMessage> {
  const row = await findMessageOf(db, scope, conversationId, id);
  if (!row) throw notFound('message');
  return presentMessage(sanitizer, row);
}

/** A message of the brand, whatever conversation it is in. @throws AppError not_found */
export async function findPresentedMessage(
  { db, sanitizer }: MessageDeps,
  scope: BrandScope,
  id: number,
): Promise<ConversationMessage> {
  const [row] = await findMessages(db, scope, [id]);
  if (!row) throw notFound('message');
  return presentMessage(sanitizer, row);
}
