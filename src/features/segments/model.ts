import { fn, type ModelObject } from 'objection';
import { countUnderLock } from '../../platform/db/brand-limit.ts';
import { type BrandScope, TenantModel } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { changedValues, raisedRevision } from '../../platform/db/revisions.ts';
import type { Reference } from './references.ts';

class SegmentModel extends TenantModel {
  static override readonly tableName = 'segments';
  static override readonly columns = [
    'id',
    'account_id',
    'brand_id',
    'name',
    'filters',
    'revision',
    'created_at',
    'updated_at',
  ];
  static override readonly jsonColumns = ['filters'];

  declare account_id: number;
  declare brand_id: number;
  declare name: string;
  declare filters: unknown[];
  declare revision: number;
  declare created_at: Date;
  declare updated_at: Date;
}
export type SegmentRow = ModelObject<SegmentModel>;

/**
 * Locks the references between the brand's segments until the transaction ends. Without it, two changes that together
 * make a cycle would each see none.
 * @returns how many segments the brand has
 */
export function lockSegments(trx: Queryable, { brandId }: BrandScope): Promise<number> {
  return countUnderLock(trx, brandId, 'segments where brand_id = $1');
}

/** Newest first. */
export async function findSegments(
  db: Queryable,
  scope: BrandScope,
  page: Page,
): Promise<{ rows: SegmentRow[]; count: RowCount }> {
  const query = SegmentModel.ofBrand(db, scope).select(SegmentModel.columns).orderBy('id', 'desc');
  if (page.after !== null) void query.where('id', '<', page.after);
  const rows: SegmentRow[] = await query.limit(page.limit).offset(page.offset);
  return { rows, count: await countRows(db, 'segments s where s.brand_id = $1', [scope.brandId]) };
}

export function findSegment(db: Queryable, scope: BrandScope, id: number): Promise<SegmentRow | null> {
  return SegmentModel.findInBrand(db, scope, id);
}

export function insertSegment(
  trx: Queryable,
  { accountId, brandId }: BrandScope,
  fields: Pick<SegmentRow, 'name' | 'filters'>,
): Promise<SegmentRow> {
  return SegmentModel.on(trx)
    .insert({ ...fields, account_id: accountId, brand_id: brandId })
    .returning(SegmentModel.columns)
    .execute();
}

/** Changes a segment, unless the fields are its own. The caller has called {@link lockSegments}. */
export async function updateSegment(
  trx: Queryable,
  scope: BrandScope,
  row: SegmentRow,
  fields: Partial<Pick<SegmentRow, 'name' | 'filters'>>,
): Promise<SegmentRow> {
  const changes = changedValues(row, fields);
  if (!changes) return row;
  const [changed] = await SegmentModel.ofBrand(trx, scope)
    .where('id', row.id)
    .patch({ ...changes, ...raisedRevision(), updated_at: fn.now() })
    .returning(SegmentModel.columns);
  return changed as SegmentRow;
}

/** @returns the deleted segment; null if the brand has no such segment */
export async function deleteSegmentRow(
  trx: Queryable,
  scope: BrandScope,
  id: number,
): Promise<SegmentRow | null> {
  const [row] = await SegmentModel.ofBrand(trx, scope)
    .where('id', id)
    .delete()
    .returning(SegmentModel.columns);
  return row ?? null;
}

/** Replaces the stored references of a segment to lists and segments. */
export async function replaceReferences(
  trx: Queryable,
  segmentId: number,
  references: readonly Pick<Reference, 'kind' | 'id'>[],
): Promise<void> {
  // A campaign that has recipients cannot be deleted, so it need not be known what names it.
  const named = references.filter(({ kind }) => kind !== 'campaign');
  await trx.query('delete from segment_references where segment_id = $1', [segmentId]);
  if (named.length === 0) return;
  await trx.query(
    `insert into segment_references (segment_id, kind, target_id)
     select distinct $1::bigint, r.kind, r.id from unnest($2::text[], $3::bigint[]) as r (kind, id)`,
    [segmentId, named.map(({ kind }) => kind), named.map(({ id }) => id)],
  );
}

/** The names of the segments that refer to this one, at most ten. */
export async function segmentsNaming(db: Queryable, id: number): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `select s.name from segment_references r join segments s on s.id = r.segment_id
     where r.kind = 'segment' and r.target_id = $1 order by s.id limit 10`,
    [id],
  );
  return rows.map((row) => row.name);
}

/**
 * Finds the next active or paused flow whose filters name segments.
 * @param after the id of the previous flow, or 0
 * @returns the flow, with the filters of each step and of its trigger; null if there are no more
 */
export async function nextFlowNamingSegments(
  db: Queryable,
  { brandId }: Pick<BrandScope, 'brandId'>,
  after: number,
): Promise<{ id: number; name: string; filters: unknown[][] } | null> {
  const { rows } = await db.query<{ id: number; name: string; filters: unknown[] }>(
    `select id, name, jsonb_path_query_array(steps, 'strict $.**.filters')
       || jsonb_build_array(trigger_data -> 'filters', trigger_data -> 'exit_filters') as filters
     from flows where brand_id = $1 and id > $2 and status in ('active', 'paused')
       and (steps::text || trigger_data::text) like '%"name": "segment"%'
     order by id limit 1`,
    [brandId, after],
  );
  const [flow] = rows;
  return flow ? { ...flow, filters: flow.filters.filter((one) => Array.isArray(one)) } : null;
}

/** Finds the segments that refer to this one, directly or through others. */
export async function findAncestors(db: Queryable, id: number): Promise<{ id: number; name: string }[]> {
  const { rows } = await db.query<{ id: number; name: string }>(
    `with recursive ancestors as (
       select segment_id as id from segment_references where kind = 'segment' and target_id = $1
       union
       select r.segment_id from ancestors a join segment_references r on r.kind = 'segment' and r.target_id = a.id
     )
     select s.id, s.name from ancestors join segments s using (id) order by s.id`,
    [id],
  );
  return rows;
}

export async function findFilters(
  db: Queryable,
  { brandId }: BrandScope,
  ids: readonly number[],
): Promise<{ id: number; filters: unknown[] }[]> {
  const { rows } = await db.query<{ id: number; filters: unknown[] }>(
    'select id, filters from segments where brand_id = $1 and id = any($2)',
    [brandId, ids],
  );
  return rows;
}
