import { invalid } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { IdScan, ScannedIds } from '../../platform/db/id-scan.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { scanMatching } from '../contacts/service.ts';
import { lockLists, requireLists } from '../lists/service.ts';
import {
  closeFilters,
  type ClosedSegments,
  compileConditions,
  expandFilters,
  referenceProblems,
} from '../segments/index.ts';
import type { BulkFilter, CreateBulkActionBody } from './schema.ts';

/** What a filter named when its action was created. Later changes of the segments do not matter. */
export interface PinnedFilter {
  /** The filters of the request, and those of its segment. */
  sets: (readonly unknown[])[];
  /** The filters of the segments that these name, at any depth. */
  segments: ClosedSegments;
  /** All lists that the action and its filters name. */
  listIds: number[];
}

/** Thrown if a list was deleted: "not in this list" would then match every contact. */
export class ListDeleted extends Error {}

async function segmentFilters(
  trx: Queryable,
  { brandId }: BrandScope,
  id: number,
): Promise<readonly unknown[]> {
  const { rows } = await trx.query<{ filters: unknown[] }>(
    'select filters from segments where brand_id = $1 and id = $2 for share',
    [brandId, id],
  );
  if (!rows[0]) throw invalid({ 'filter.segment_id': ['is not a segment of the brand'] });
  return rows[0].filters;
}

async function requireReferences(trx: Queryable, scope: BrandScope, filters: readonly unknown[]) {
  const problems = await referenceProblems(trx, scope, filters);
  if (problems.length === 0) return;
  throw invalid(
    Object.fromEntries(
      problems.map(({ path, message }) => [['filter.filters', ...path].join('.'), [message]]),
    ),
  );
}

/**
 * Checks that the lists and segments of a request belong to the brand, and copies the segments' filters.
 * @throws AppError validation_error
 */
export async function pinFilter(
  trx: Queryable,
  scope: BrandScope,
  { filter, list_id: target }: CreateBulkActionBody,
): Promise<PinnedFilter> {
  const { filters = [], list_id: listId, segment_id: segmentId } = filter;
  const lists = [listId, target].filter((id) => id !== undefined);
  if (target !== undefined) await requireLists(trx, scope.brandId, [target], { field: 'list_id' });
  if (listId !== undefined) await requireLists(trx, scope.brandId, [listId], { field: 'filter.list_id' });
  await requireReferences(trx, scope, filters);
  const ofSegment = segmentId === undefined ? [] : await segmentFilters(trx, scope, segmentId);
  const sets = [filters, ofSegment].filter((set) => set.length > 0);
  const { segments, listIds, isTooLarge } = await closeFilters(trx, scope, sets);
  if (isTooLarge)
    throw invalid({ 'filter.filters': ['has too many filters, with those of the segments that it names'] });
  return { sets, segments, listIds: [...new Set([...lists, ...listIds])] };
}

const flag = (value: boolean) => (value ? ('true' as const) : ('false' as const));

/** An action's filter, and the time at which periods such as the last 30 days end. */
export interface FilterInUse {
  scope: BrandScope;
  asOf: Date;
  filter: BulkFilter;
  pinned: PinnedFilter;
}

/**
 * Finds the contacts of a page that match. In a transaction, none of the named lists can be deleted until it ends.
 * @throws ListDeleted
 */
export async function scanFilter(
  db: Queryable,
  { scope, asOf, filter, pinned }: FilterInUse,
  scan: IdScan,
): Promise<ScannedIds> {
  const { sets, segments, listIds } = pinned;
  if (listIds.length > 0 && (await lockLists(db, scope.brandId, listIds)).size < listIds.length)
    throw new ListDeleted('a list was deleted');
  const { all: _all, segment_id: _segment, filters: _filters, subscribed, ...rest } = filter;
  const conditions = sets.flatMap((set) => expandFilters(set, segments));
  const audience = { brandId: scope.brandId, asOf, paged: true };
  return scanMatching(
    db,
    scope,
    { ...rest, subscribed: subscribed === undefined ? undefined : flag(subscribed) },
    (firstParameter) => compileConditions(db, audience, conditions, firstParameter),
    scan,
  );
}
