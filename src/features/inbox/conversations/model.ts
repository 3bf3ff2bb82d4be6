/** Statements of conversations. */
import { fn, type ModelObject } from 'objection';
import { emailParts } from '../../../delivery/terms/addresses/search-keys.ts';
import { prefixPattern } from '../../../platform/db/like.ts';
import { type BrandScope, TenantModel } from '../../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../../platform/db/paging.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { ConversationStatus } from './schema.ts';

class ConversationModel extends TenantModel {
  static override readonly tableName = 'conversations';
  static override readonly columns = [
    'id',
    'account_id',
    'brand_id',
    'inbox_id',
    'contact_id',
    'linked_conversation_id',
    'participants',
    'subject',
    'status',
    'assignee_id',
    'unread_count',
    'last_message_at',
    'created_at',
    'updated_at',
  ];
  declare account_id: number;
  declare brand_id: number;
  declare inbox_id: number;
  declare contact_id: number | null;
  declare linked_conversation_id: number | null;
  /** Keys of addresses. */
  declare participants: string[];
  declare subject: string | null;
  declare status: ConversationStatus;
  declare assignee_id: number | null;
  declare unread_count: number;
  declare last_message_at: Date;
  declare created_at: Date;
  declare updated_at: Date;
}
/** A row of `conversations`. */
export type ConversationRow = ModelObject<ConversationModel>;

/** SQL: the columns of a conversation `c`. */
const COLUMNS = ConversationModel.columns.map((name) => `c.${name}`).join(', ');

/** A search by text looks at this many conversations, the newest ones that match the other filters. */
const MAX_SEARCHED = 5_000;

/** @returns null if the brand has no such conversation */
export function findConversation(
  db: Queryable,
  scope: BrandScope,
  id: number,
): Promise<ConversationRow | null> {
  return ConversationModel.findInBrand(db, scope, id);
}

/** Locks a conversation until the transaction ends. @returns null if the brand has no such conversation */
export async function lockConversation(
  trx: Queryable,
  scope: BrandScope,
  id: number,
): Promise<ConversationRow | null> {
  const [row] = await ConversationModel.ofBrand(trx, scope)
    .where('id', id)
    .forUpdate()
    .select(ConversationModel.columns);
  return row ?? null;
}

export interface ConversationFilters {
  inboxId: number | undefined;
  contactId: number | undefined;
  assigneeId: number | undefined;
  status: ConversationStatus | undefined;
  unread: boolean | undefined;
  search: string | undefined;
}

/** SQL to follow `from`: the conversations that match, with its values. */
function sourceOf({ accountId, brandId }: BrandScope, filters: ConversationFilters) {
  const values: unknown[] = [accountId, brandId];
  const conditions = ['c.account_id = $1 and c.brand_id = $2'];
  const same = (column: string, value: unknown) => {
    if (value !== undefined) conditions.push(`${column} = $${values.push(value)}`);
  };
  same('c.inbox_id', filters.inboxId);
  same('c.contact_id', filters.contactId);
  same('c.assignee_id', filters.assigneeId);
  same('c.status', filters.status);
  same('(c.unread_count > 0)', filters.unread);
  const matching = `conversations c where ${conditions.join(' and ')}`;
  if (filters.search === undefined) return { source: matching, values };
  const part = `$${values.push(`%${prefixPattern(filters.search.toLowerCase())}`)}`;
  const beginnings = `$${values.push(emailParts(filters.search).map(prefixPattern))}`;
  const source = `(select c.* from ${matching} order by c.last_message_at desc, c.id desc limit ${MAX_SEARCHED}) c
    where lower(c.subject) like ${part} or exists (select from unnest(c.participants) p where lower(p) like any(${beginnings}::text[]))`;
  return { source, values };
}

/** Finds conversations, the one with the newest message first. */
export async function findConversations(
  db: Queryable,
  scope: BrandScope,
  filters: ConversationFilters,
  page: Page,
): Promise<{ rows: ConversationRow[]; count: RowCount }> {
  const { source, values } = sourceOf(scope, filters);
  const [{ rows }, count] = await Promise.all([
    db.query<ConversationRow>(
      `select ${COLUMNS} from ${source}
       order by c.last_message_at desc, c.id desc limit ${page.limit} offset ${page.offset}`,
      values,
    ),
    countRows(db, source, values),
  ]);
  return { rows, count };
}

/** Values to set; an undefined one stays as it is. */
export interface ConversationChange {
  status?: ConversationStatus | undefined;
  assigneeId?: number | null | undefined;
  unreadCount?: number;
}

/** @returns null if the brand has no such conversation */
export async function updateConversation(
  db: Queryable,
  scope: BrandScope,
  id: number,
  { status, assigneeId: assignee_id, unreadCount: unread_count }: ConversationChange,
): Promise<ConversationRow | null> {
  const [row] = await ConversationModel.ofBrand(db, scope)
    .where('id', id)
    .patch({ status, assignee_id, unread_count, updated_at: fn.now() })
    .returning(ConversationModel.columns);
  return row ?? null;
}

/** Whether a user belongs to an account. */
export async function isMember(db: Queryable, accountId: number, userId: number): Promise<boolean> {
  const { rowCount } = await db.query('select from memberships where account_id = $1 and user_id = $2', [
    accountId,
    userId,
  ]);
  return rowCount === 1;
}
