/** Rows of `campaign_list_fills`. */
import { fn, type ModelObject, raw } from 'objection';
import { type BrandScope, TenantModel } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { RecipientFilters } from './recipients.ts';

class ListFillModel extends TenantModel {
  static override readonly tableName = 'campaign_list_fills';
  static override readonly columns = [
    'id',
    'campaign_id',
    'list_id',
    'filters',
    'up_to',
    'cursor',
    'looked_at',
    'added',
    'created_at',
    'finished_at',
  ];
  static override readonly jsonColumns = ['filters'];
  declare campaign_id: number;
  declare list_id: number;
  declare filters: RecipientFilters;
  /** The last message at the request. */
  declare up_to: number;
  declare cursor: number;
  /** Number of messages looked at. */
  declare looked_at: number;
  /** Number of contacts added. */
  declare added: number;
  declare served_at: Date;
  declare created_at: Date;
  declare finished_at: Date | null;
}
export type ListFillRow = Omit<ModelObject<ListFillModel>, 'served_at'>;

/** SQL: the columns of a {@link ListFillRow}. */
export const LIST_FILL_COLUMNS = ListFillModel.columns.join(', ');

/** @returns null if the brand has no list fill with this id */
export function findRow(db: Queryable, scope: BrandScope, id: number): Promise<ListFillRow | null> {
  return ListFillModel.findInBrand(db, scope, id);
}

/** What a page has done. `scannedTo`: null if it was the last one. */
export interface FilledPage {
  scannedTo: number | null;
  lookedAt: number;
  added: number;
}

/** Stores the progress of a locked list fill, which is then the last in the queue. */
export async function savePage(
  trx: Queryable,
  id: number,
  { scannedTo, lookedAt, added }: FilledPage,
): Promise<void> {
  const end = scannedTo === null ? { finished_at: fn.now() } : {};
  await ListFillModel.on(trx)
    .where('id', id)
    .patch({
      cursor: raw('greatest(cursor, coalesce(?::bigint, cursor))', [scannedTo]),
      looked_at: raw('looked_at + ?', [lookedAt]),
      added: raw('added + ?', [added]),
      served_at: raw('clock_timestamp()'),
      ...end,
    });
}

/** Puts a list fill behind all others. */
export async function putLast(db: Queryable, id: number): Promise<void> {
  await ListFillModel.on(db)
    .where('id', id)
    .patch({ served_at: raw('clock_timestamp()') });
}
