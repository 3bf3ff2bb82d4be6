import { invalid, notFound } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { type AccountBound, requireWithinBound } from '../../platform/db/account-bound.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { countOf } from './counts.ts';
import {
  existingListIds,
  findList,
  findLists,
  hideList,
  insertList,
  type ListRow,
  segmentsNaming,
  updateList,
} from './model.ts';
import { requireUnused } from './naming.ts';
import type { ChangeListBody, ContactList, CreateListBody, ListListsQuery } from './schema.ts';

export { countOf } from './counts.ts';
export { existingListIds, lockLists } from './model.ts';
export { campaignsNaming, flowsNaming, quoted, requireUnused } from './naming.ts';
export {
  addToLists,
  leaveLists,
  type ListOfContact,
  removeFromList,
  replaceLists,
  visibleListsOf,
} from './members.ts';

function presentList(row: ListRow, contactsCount: number): ContactList {
  return {
    id: row.id,
    account_id: row.account_id,
    name: row.name,
    description: row.description,
    visible: row.visible,
    contacts_count: contactsCount,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

async function presentLists(db: Queryable, rows: readonly ListRow[]): Promise<ContactList[]> {
  const ids = rows.map((row) => row.id);
  const counts = await countOf(db, 'list', ids);
  return rows.map((row) => presentList(row, counts.get(row.id) ?? 0));
}

async function presentOne(db: Queryable, row: ListRow | null): Promise<ContactList> {
  if (!row) throw notFound('list');
  const counts = await countOf(db, 'list', [row.id]);
  return presentList(row, counts.get(row.id) ?? 0);
}

/** Lists the contact lists of a brand, newest first. */
export async function listLists(
  db: Queryable,
  tenant: BrandScope,
  query: ListListsQuery,
  page: Page,
): Promise<{ lists: ContactList[]; count: RowCount }> {
  const { rows, count } = await findLists(db, tenant, query.name, page);
  return { lists: await presentLists(db, rows), count };
}

/** @throws AppError not_found */
export async function getList(db: Queryable, tenant: BrandScope, id: number): Promise<ContactList> {
  return presentOne(db, await findList(db, tenant, id));
}

const BOUND: AccountBound = {
  ...{ table: 'lists', where: 'r.removed_at is null', columns: ['name', 'description'] },
  ...{ maxRows: 20_000, maxBytes: 256 * 1024 ** 2 },
};

/**
 * @param trx the caller's transaction
 * @throws AppError validation_error if the account has too many
 */
export async function createList(trx: Queryable, tenant: Tenant, body: CreateListBody): Promise<ContactList> {
  const { name, description = null, visible } = body;
  const row = await insertList(trx, tenant, { name, description, visible });
  await requireWithinBound(trx, tenant, BOUND, 'added');
  return presentList(row, 0);
}

/** @throws AppError not_found */
export async function changeList(
  db: Queryable,
  tenant: BrandScope,
  id: number,
  body: ChangeListBody,
): Promise<ContactList> {
  return presentOne(db, await updateList(db, tenant, id, body));
}

/**
 * Deletes a list: it is hidden at once, and the worker removes its members in pages and then its row.
 * @param trx the caller's transaction
 * @returns the list as it was
 * @throws AppError not_found; conflict if a segment, a flow, or a campaign whose recipients are not all written
 *   names the list
 */
export async function deleteList(trx: Queryable, tenant: BrandScope, id: number): Promise<ContactList> {
  // A transaction that saves a segment locks the lists that it names, so no segment can name the list after this.
  const list = await presentOne(trx, await hideList(trx, tenant, id));
  // Sending a campaign and activating a flow also lock the lists that they name.
  await requireUnused(trx, tenant, 'list', id, await segmentsNaming(trx, id));
  return list;
}

/**
 * Checks that all ids belong to lists of the brand.
 * @param options.field the field of the request, for the error
 * @throws AppError validation_error
 */
export async function requireLists(
  db: Queryable,
  brandId: number,
  ids: readonly number[],
  { field = 'list_ids' } = {},
): Promise<void> {
  if (ids.length === 0) return;
  const existing = new Set(await existingListIds(db, { brandId }, ids));
  const unknown = [...new Set(ids)].filter((id) => !existing.has(id));
  if (unknown.length === 0) return;
  const named = unknown.slice(0, 10).join(', ');
  throw invalid({ [field]: [`contains ids that are not lists of the brand: ${named}`] });
}
