/**
 * Filters together with the segments that they name. Work that uses them later, in pages or after a wait, does not
 * depend on later changes of these segments.
 */
import { invalid } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { errorsOf } from './conditions.ts';
import { type Condition, MAX_FILTERS } from './language.ts';
import {
  expand,
  isTooLarge,
  measure,
  type Outline,
  outline,
  type Outlines,
  segmentIds,
  type Size,
} from './references.ts';

/**
 * The filters of segments by id, including segments that other segments name. The ids are keys of an object, so that it
 * can be stored as JSON.
 */
export type ClosedSegments = Readonly<Record<string, readonly unknown[]>>;

/** All lists and segments that filters name, at any depth. */
export interface NamedByFilters {
  segments: ClosedSegments;
  listIds: number[];
  segmentIds: number[];
  /** Named segments that the brand does not have. */
  missingIds: number[];
  /** Whether all filters together, with those of the segments, are more than one segment may have. */
  isTooLarge: boolean;
}

/** Maximum number of segments that one statement reads, up to 64 KiB each. */
const MAX_AT_ONCE = MAX_FILTERS + 1;

/** @throws AppError validation_error */
function requireOutline(filters: readonly unknown[]): Outline {
  const one = outline(filters);
  if (one.problems.length > 0) throw invalid(errorsOf(one.problems));
  return one;
}

/** How many filters a segment adds to those that name it. An empty segment counts as one. */
const weight = ({ count }: Size) => Math.max(count, 1);

/** @returns null if a segment names itself */
function measureTogether(sets: readonly Outline[], known: Outlines): Size | null {
  const sizes = sets.map((set) => measure(set, known));
  if (sizes.includes(null)) return null;
  const measured = sizes.filter((size) => size !== null);
  return {
    count: measured.reduce((sum, size) => sum + weight(size), 0),
    depth: Math.max(0, ...measured.map(({ depth }) => depth)),
  };
}

/**
 * Loads the segments that filters name, directly or through others. It locks each level before it reads the next one:
 * until the transaction ends, none of the segments changes or is deleted.
 * @param sets the filters of several segments, which are already locked
 * @param options.max maximum number of all filters; if there are more, the rest is not loaded
 * @param options.lock if false, the segments may change meanwhile
 * @throws AppError validation_error
 */
export async function closeFilters(
  trx: Queryable,
  { brandId }: Pick<BrandScope, 'brandId'>,
  sets: readonly (readonly unknown[])[],
  { max = MAX_FILTERS, lock = true }: { max?: number; lock?: boolean } = {},
): Promise<NamedByFilters> {
  const outlines = sets.map(requireOutline);
  const known: Outlines = new Map();
  const segments: Record<string, readonly unknown[]> = {};
  let count = outlines.reduce((sum, one) => sum + weight(one), 0);
  let missing = [...new Set(segmentIds(outlines))];
  const named = new Set(missing);
  while (missing.length > 0 && count <= max) {
    const { rows } = await trx.query<{ id: number; filters: unknown[] }>(
      `select id, filters from segments where brand_id = $1 and id = any($2) order by id
       limit ${MAX_AT_ONCE} ${lock ? 'for share' : ''}`,
      [brandId, missing],
    );
    for (const { id, filters } of rows) {
      const one = requireOutline(filters);
      segments[String(id)] = filters;
      known.set(id, one);
      count += weight(one);
      for (const inner of segmentIds([one])) named.add(inner);
    }
    missing = rows.length === 0 ? [] : [...named].filter((id) => !known.has(id));
  }
  const references = [...outlines, ...known.values()].flatMap((one) => one.references);
  const size = measureTogether(outlines, known);
  return {
    segments,
    listIds: [...new Set(references.flatMap(({ kind, id }) => (kind === 'list' ? [id] : [])))],
    segmentIds: [...named],
    missingIds: [...named].filter((id) => !known.has(id)),
    isTooLarge: count > max || !size || isTooLarge(size),
  };
}

/**
 * Parses filters, and replaces references to segments by the segments' filters.
 * @returns conditions, all of which must hold
 * @throws AppError validation_error
 */
export function expandFilters(filters: readonly unknown[], segments: ClosedSegments): Condition[] {
  const known: Outlines = new Map(
    Object.entries(segments).map(([id, each]) => [Number(id), requireOutline(each)]),
  );
  return expand(requireOutline(filters).conditions, known);
}

/** Whether a test passes for one of the parts of a condition. */
function someLeaf(condition: Condition, test: (leaf: Condition) => boolean): boolean {
  switch (condition.type) {
    case 'all':
    case 'any':
      return condition.parts.some((part) => someLeaf(part, test));
    case 'not':
      return someLeaf(condition.part, test);
    default:
      return test(condition);
  }
}

/** Whether a condition depends on what contacts did, or on mail to them. */
export const readsEvents = (condition: Condition): boolean =>
  someLeaf(condition, ({ type }) => type === 'did');

/** Whether a condition depends on the mail of a campaign. */
export const namesCampaign = (condition: Condition): boolean =>
  someLeaf(
    condition,
    (leaf) => leaf.type === 'did' && 'campaignId' in leaf.activity && leaf.activity.campaignId !== null,
  );
