import { AppError, notFound } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { appendToOutbox } from '../../platform/outbox/append.ts';
import { pinFilter } from './filter.ts';
import { type BulkActionRow, cancel, findBulkAction, findBulkActions, insertBulkAction } from './model.ts';
import type { BulkAction, CreateBulkActionBody, ListBulkActionsQuery } from './schema.ts';
import { bulkActionStart, bulkActionWake } from './workflow.ts';

const MAX_UNFINISHED = 10;

function presentBulkAction(row: BulkActionRow): BulkAction {
  return {
    id: row.id,
    action: row.action,
    list_id: row.list_id,
    filter: row.filter,
    dry_run: row.dry_run,
    status: row.status,
    error: row.error,
    total_count: row.total_count,
    processed_count: row.processed_count,
    changed_count: row.changed_count,
    failed_count: row.failed_count,
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}

/**
 * Creates a bulk action, and requests its workflow.
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
  const row = await insertBulkAction(trx, scope, { action, listId, filter, pinned, dryRun }, MAX_UNFINISHED);
  if (!row) {
    throw new AppError(
      'conflict',
      `the account has ${MAX_UNFINISHED} unfinished bulk actions; wait or cancel one`,
    );
  }
  const { id, account_id: accountId, brand_id: brandId } = row;
  await appendToOutbox(trx, { kind: 'start', ...bulkActionStart({ id, accountId, brandId, action }) });
  return presentBulkAction(row);
}

/** Lists the bulk actions of a brand, newest first. */
export async function listBulkActions(
  db: Queryable,
  scope: BrandScope,
  { action, status }: ListBulkActionsQuery,
  page: Page,
): Promise<{ actions: BulkAction[]; count: RowCount }> {
  const { rows, count } = await findBulkActions(db, scope, { action, status }, page);
  return { actions: rows.map(presentBulkAction), count };
}

/** @throws AppError not_found */
export async function getBulkAction(db: Queryable, scope: BrandScope, id: number): Promise<BulkAction> {
  const row = await findBulkAction(db, scope, id);
  if (!row) throw notFound('bulk action');
  return presentBulkAction(row);
}

/**
 * Cancels an unfinished bulk action. It waits for the page that is being changed, which stays changed.
 * @param trx the caller's transaction; wake `outbox` after the commit
 * @throws AppError not_found; invalid_transition if it has ended
 */
export async function cancelBulkAction(trx: Queryable, scope: BrandScope, id: number): Promise<BulkAction> {
  const row = await cancel(trx, scope, id);
  if (!row) {
    const found = await getBulkAction(trx, scope, id);
    throw new AppError('invalid_transition', `the action is ${found.status} and can no longer be canceled`);
  }
  await appendToOutbox(trx, bulkActionWake(id));
  return presentBulkAction(row);
}
