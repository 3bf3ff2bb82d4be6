/** Statements of conversations. */
import { emailParts } from '../../../delivery/terms/addresses/search-keys.ts';
import { prefixPattern } from '../../../platform/db/like.ts';
import type { BrandScope } from '../../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../../platform/db/paging.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { ConversationStatus } from './schema.ts';

/** A row of `conversations`. */
export interface ConversationRow {
  id: number;
  account_id: number;
  brand_id: number;
  inbox_id: number;
  contact_id: number | null;
  linked_conversation_id: number | null;
  /** Keys of addresses. */
  participants: string[];
  subject: string | null;
  status: ConversationStatus;
  assignee_id: number | null;
  unread_count: number;
  last_message_at: Date;
  created_at: Date;
  updated_at: Date;
}

const COLUMNS = `c.id, c.account_id, c.brand_id, c.inbox_id, c.contact_id, c.linked_conversation_id, c.participants,
  c.subject, c.status, c.assignee_id, c.unread_count, c.last_message_at, c.created_at, c.updated_at`;

/** A search by text looks at this many conversations, the newest ones that match the other filters. */
const MAX_SEARCHED = 5_000;

async function readConversation(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  id: number,
  lock: '' | 'for update',
): Promise<ConversationRow | null> {
  const { rows } = await db.query<ConversationRow>(
    `select ${COLUMNS} from conversations c where c.account_id = $1 and c.brand_id = $2 and c.id = $3 ${lock}`,
    [accountId, brandId, id],
  );
  return rows[0] ?? null;
}

/** @returns null if the brand has no such conversation */
export function findConversation(db: Queryable, scope: BrandScope, id: number) {
  return readConversation(db, scope, id, '');
}

/** Locks a conversation until the transaction ends. @returns null if the brand has no such conversation */
export function lockConversation(trx: Queryable, scope: BrandScope, id: number) {
  return readConversation(trx, scope, id, 'for update');
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
  { accountId, brandId }: BrandScope,
  id: number,
  change: ConversationChange,
): Promise<ConversationRow | null> {
  const values: unknown[] = [accountId, brandId, id];
  const sets = ['updated_at = now()'];
  const set = (column: string, value: unknown) => {
    if (value !== undefined) sets.push(`${column} = $${values.push(value)}`);
  };
  set('status', change.status);
  set('assignee_id', change.assigneeId);
  set('unread_count', change.unreadCount);
  const { rows } = await db.query<ConversationRow>(
    `update conversations c set ${sets.join(', ')}
     where c.account_id = $1 and c.brand_id = $2 and c.id = $3 returning ${COLUMNS}`,
    values,
  );
  return rows[0] ?? null;
}

/** Whether a user belongs to an account. */
export async function isMember(db: Queryable, accountId: number, userId: number): Promise<boolean> {
  const { rowCount } = await db.query('select from memberships where account_id = $1 and user_id = $2', [
    accountId,
    userId,
  ]);
  return rowCount === 1;
}
