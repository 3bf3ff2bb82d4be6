import { fn, type ModelObject } from 'objection';
import { type BrandScope, TenantModel } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { BulkStatus, ChangeListBody } from './schema.ts';

export class ListModel extends TenantModel {
  static override readonly tableName = 'lists';
  static override readonly columns = [
    'id',
    'account_id',
    'brand_id',
    'name',
    'description',
    'visible',
    'created_at',
    'updated_at',
  ];
  declare account_id: number;
  declare brand_id: number;
  declare name: string;
  declare description: string | null;
  /** Whether its members see it on their preference page. */
  declare visible: boolean;
  declare removed_at: Date | null;
  declare created_at: Date;
  declare updated_at: Date;
}
export type ListRow = Omit<ModelObject<ListModel>, 'removed_at'>;

const COLUMNS = ListModel.columns.join(', ');

export async function insertList(
  db: Queryable,
  { accountId: account_id, brandId: brand_id }: BrandScope,
  values: Pick<ListRow, 'name' | 'description' | 'visible'>,
): Promise<ListRow> {
  return ListModel.on(db)
    .insert({ account_id, brand_id, ...values })
    .returning(ListModel.columns);
}

/** @returns null if the brand has no such list */
export async function findList(db: Queryable, scope: BrandScope, id: number): Promise<ListRow | null> {
  const [row] = await ListModel.ofBrand(db, scope)
    .where('id', id)
    .whereNull('removed_at')
    .select(ListModel.columns);
  return row ?? null;
}

/** @returns null if the brand has no such list */
export async function updateList(
  db: Queryable,
  scope: BrandScope,
  id: number,
  { name, description, visible }: ChangeListBody,
): Promise<ListRow | null> {
  const [row] = await ListModel.ofBrand(db, scope)
    .where('id', id)
    .whereNull('removed_at')
    .patch({ name, description, visible, updated_at: fn.now() })
    .returning(ListModel.columns);
  return row ?? null;
}

/** Finds lists, newest first. @param name only lists with this name */
export async function findLists(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  name: string | undefined,
  page: Page,
): Promise<{ rows: ListRow[]; count: RowCount }> {
  const values: unknown[] = [accountId, brandId, ...(name === undefined ? [] : [name])];
  const where = `l.account_id = $1 and l.brand_id = $2 and l.removed_at is null
    ${name === undefined ? '' : 'and l.name = $3'}`;
  const below = page.after === null ? '' : `and l.id < ${page.after}`;
  const [{ rows }, count] = await Promise.all([
    db.query<ListRow>(
      `select ${COLUMNS} from lists l where ${where} ${below}
       order by l.id desc limit ${page.limit} offset ${page.offset}`,
      values,
    ),
    countRows(db, `lists l where ${where}`, values),
  ]);
  return { rows, count };
}

/** Hides a list. @returns null if the brand has no such list */
export async function hideList(db: Queryable, scope: BrandScope, id: number): Promise<ListRow | null> {
  const [row] = await ListModel.ofBrand(db, scope)
    .where('id', id)
    .whereNull('removed_at')
    .patch({ removed_at: fn.now() })
    .returning(ListModel.columns);
  return row ?? null;
}

/** The names of the segments that use the list, at most ten. */
export async function segmentsNaming(db: Queryable, listId: number): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `select s.name from segment_references r join segments s on s.id = r.segment_id
     where r.kind = 'list' and r.target_id = $1 order by s.id limit 10`,
    [listId],
  );
  return rows.map((row) => row.name);
}

/** Returns the ids that belong to lists of the brand. None of these lists can be deleted until the transaction ends. */
export async function lockLists(
  trx: Queryable,
  brandId: number,
  ids: readonly number[],
): Promise<Set<number>> {
  const { rows } = await trx.query<{ id: number }>(
    'select id from lists where brand_id = $1 and id = any($2) and removed_at is null order by id for share',
    [brandId, [...new Set(ids)]],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Returns the ids that belong to lists of the brand. */
export async function existingListIds(
  db: Queryable,
  { brandId }: Pick<BrandScope, 'brandId'>,
  ids: readonly number[],
): Promise<number[]> {
  const { rows } = await db.query<{ id: number }>(
    `select id from lists where brand_id = $1 and id = any($2) and removed_at is null`,
    [brandId, ids],
  );
  return rows.map((row) => row.id);
}

/** The letters for statuses in `list_bulk_results`. They are stored, so they must never change. */
const letters = {
  added: 'a',
  already_there: 't',
  created: 'c',
  removed: 'r',
  not_found: 'n',
  invalid: 'i',
} as const satisfies Record<BulkStatus, string>;

const statusOf = new Map(Object.entries(letters).map(([status, letter]) => [letter, status as BulkStatus]));

/** The result of one item of a bulk request. */
export interface BulkOutcome {
  status: BulkStatus;
  contact_id: number | null;
}

class BulkResultsModel extends TenantModel {
  static override readonly tableName = 'list_bulk_results';
  static override readonly columns = ['id', 'statuses', 'contact_ids'];
  declare account_id: number;
  declare brand_id: number;
  /** A letter for each item. */
  declare statuses: string;
  declare contact_ids: (number | null)[];
}

/** Stores the results of a bulk request. @returns the id */
export async function insertBulkResults(
  db: Queryable,
  { accountId: account_id, brandId: brand_id }: BrandScope,
  outcomes: readonly BulkOutcome[],
): Promise<number> {
  const statuses = outcomes.map(({ status }) => letters[status]).join('');
  const contact_ids = outcomes.map((outcome) => outcome.contact_id);
  const row = await BulkResultsModel.on(db)
    .insert({ account_id, brand_id, statuses, contact_ids })
    .returning('id');
  return row.id;
}

/** @returns null if the results were removed */
export async function findBulkResults(
  db: Queryable,
  scope: BrandScope,
  id: number,
): Promise<BulkOutcome[] | null> {
  const row = await BulkResultsModel.findInBrand(db, scope, id);
  if (!row) return null;
  return row.contact_ids.map((contact_id, n) => ({
    status: statusOf.get(row.statuses.charAt(n) as 'a') ?? 'invalid',
    contact_id,
  }));
}
