import { AppError, notFound } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { appendToOutbox } from '../../platform/outbox/append.ts';
import { forgetInFilters, namedIn } from '../contacts/service.ts';
import { pinFilter } from './filter.ts';
import { lastConversationId } from '../inbox/index.ts';
import {
  type ActionSubject,
  type BulkActionRow,
  cancel,
  findBulkAction,
  findBulkActions,
  insertBulkAction,
  type NewBulkAction,
} from './model.ts';
import type {
  BulkAction,
  ConversationAction,
  CreateBulkActionBody,
  CreateConversationActionBody,
  ListBulkActionsQuery,
} from './schema.ts';
import { bulkActionStart, bulkActionWake } from './workflow.ts';

const MAX_UNFINISHED = 10;

/** Clears the addresses of deleted contacts from the filters of actions that have ended. */
export const forgetContactInBulkActions = forgetInFilters({
  table: 'bulk_actions',
  columns: ['filter', 'pinned'],
});

/** An action as clients see it. */
export type PresentedAction<Subject extends ActionSubject> = Subject extends 'contacts'
  ? BulkAction
  : ConversationAction;

/** The fields that all actions have. */
const presentFacts = (row: BulkActionRow) => ({
  id: row.id,
  filter: row.filter,
  dry_run: row.dry_run,
  status: row.status,
  total_count: row.total_count,
  processed_count: row.processed_count,
  changed_count: row.changed_count,
  failed_count: row.failed_count,
  created_at: row.created_at.toISOString(),
  started_at: row.started_at?.toISOString() ?? null,
  finished_at: row.finished_at?.toISOString() ?? null,
});

function presentAction(row: BulkActionRow): BulkAction | ConversationAction {
  const { action, list_id: listId, error } = row;
  if (action !== 'delete_conversations') return { ...presentFacts(row), action, list_id: listId, error };
  return {
    ...presentFacts(row),
    action: 'delete',
    error: error === 'list_deleted' ? 'internal_error' : error,
  };
}

/** Inserts an action, and requests its workflow. */
async function create(trx: Queryable, scope: BrandScope, action: NewBulkAction): Promise<BulkActionRow> {
  const row = await insertBulkAction(trx, scope, action, MAX_UNFINISHED);
  if (!row) {
    throw new AppError(
      'conflict',
      `the account has ${MAX_UNFINISHED} unfinished bulk actions; wait or cancel one`,
    );
  }
  const { id, account_id: accountId, brand_id: brandId } = row;
  const start = bulkActionStart({ id, accountId, brandId, action: row.action });
  await appendToOutbox(trx, { kind: 'start', ...start });
  return row;
}

/**
 * Creates a bulk action on contacts, and requests its workflow.
 * @param trx the caller's transaction; wake `outbox` after the commit
 * @throws AppError validation_error; conflict if the account has too many unfinished actions
 */
export async function createBulkAction(
  trx: Queryable,
  scope: BrandScope,
  body: CreateBulkActionBody,
): Promise<BulkAction> {
  const { action, list_id: listId = null, filter, dry_run: dryRun } = body;
  const pinned = await pinFilter(trx, scope, body);
  const named = namedIn(scope.brandId, { filter, pinned });
  return presentAction(
    await create(trx, scope, { action, listId, filter, pinned, named, dryRun }),
  ) as BulkAction;
}

/**
 * Creates a bulk action on conversations, and requests its workflow.
 * @param trx the caller's transaction; wake `outbox` after the commit
 * @throws AppError conflict if the account has too many unfinished actions
 */
export async function createConversationAction(
  trx: Queryable,
  scope: BrandScope,
  { filter, dry_run: dryRun }: CreateConversationActionBody,
): Promise<ConversationAction> {
  const pinned = { up_to: await lastConversationId(trx) };
  const named = namedIn(scope.brandId, filter);
  const action = { action: 'delete_conversations', listId: null, filter, pinned, named, dryRun } as const;
  return presentAction(await create(trx, scope, action)) as ConversationAction;
}

/** Lists the bulk actions of a brand on a subject, newest first. */
export async function listBulkActions<Subject extends ActionSubject>(
  db: Queryable,
  scope: BrandScope,
  subject: Subject,
  { action, status }: Pick<ListBulkActionsQuery, 'status'> & Partial<ListBulkActionsQuery>,
  page: Page,
): Promise<{ actions: PresentedAction<Subject>[]; count: RowCount }> {
  const { rows, count } = await findBulkActions(db, scope, subject, { action, status }, page);
  return { actions: rows.map(presentAction) as PresentedAction<Subject>[], count };
}

/** @throws AppError not_found */
export async function getBulkAction<Subject extends ActionSubject>(
  db: Queryable,
  scope: BrandScope,
  subject: Subject,
  id: number,
): Promise<PresentedAction<Subject>> {
  const row = await findBulkAction(db, scope, subject, id);
  if (!row) throw notFound('bulk action');
  return presentAction(row) as PresentedAction<Subject>;
}

/**
 * Cancels an unfinished bulk action. It waits for the page that is being changed, which stays changed.
 * @param trx the caller's transaction; wake `outbox` after the commit
 * @throws AppError not_found; invalid_transition if it has ended
 */
export async function cancelBulkAction<Subject extends ActionSubject>(
  trx: Queryable,
  scope: BrandScope,
  subject: Subject,
  id: number,
): Promise<PresentedAction<Subject>> {
  const row = await cancel(trx, scope, subject, id);
  if (!row) {
    const found = await getBulkAction(trx, scope, subject, id);
    throw new AppError('invalid_transition', `the action is ${found.status} and can no longer be canceled`);
  }
  await appendToOutbox(trx, bulkActionWake(id));
  return presentAction(row) as PresentedAction<Subject>;
}
