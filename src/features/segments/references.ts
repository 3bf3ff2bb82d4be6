import { invalid } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import {
  type Condition,
  type EngagementName,
  engagementKinds,
  type FlowNames,
  MAX_DEPTH,
  MAX_FILTERS,
} from './language.ts';
import { type Filter, namesCampaign, parseFilters, type Problem } from './parse.ts';
import type { Path } from './values.ts';

export const TOO_LARGE = `must have at most ${MAX_FILTERS} filters and ${MAX_DEPTH} levels, including those of the segments that they name`;

interface Named {
  id: number;
  /** Path from the array of filters: `[2, 'value', 0]`. */
  path: Path;
  /** Level of the filter; 1 outside groups. */
  depth: number;
}

/** A list, a segment or a campaign that a filter names. */
export type Reference = Named &
  ({ kind: 'list' | 'segment' } | { kind: 'campaign'; engagement: EngagementName });

/** What determines the size of filters. */
export interface Shape {
  references: readonly Pick<Reference, 'kind' | 'id' | 'depth'>[];
  /** Number of filters, without those of referenced segments. */
  count: number;
  depth: number;
}

/** Parsed filters, and what they name. */
export interface Outline extends Shape {
  conditions: Condition[];
  problems: Problem[];
  references: Reference[];
}

function referencesOf({ name, predicate, value }: Filter, at: Path, depth: number): Reference[] {
  if (Object.hasOwn(engagementKinds, name) && namesCampaign(value)) {
    const engagement = name as EngagementName;
    const path = [...at, 'value', 'campaign_id'];
    return [{ kind: 'campaign', engagement, id: value.campaign_id as number, path, depth }];
  }
  if (name !== 'list' && name !== 'segment') return [];
  if (predicate === 'eq' || predicate === 'not_eq') {
    return [{ kind: name, id: value as number, path: [...at, 'value'], depth }];
  }
  const ids = value as number[];
  const firsts = new Map(ids.map((id, index) => [id, index] as const).reverse());
  return [...firsts].map(([id, index]) => ({ kind: name, id, path: [...at, 'value', index], depth }));
}

interface Walk {
  references: Reference[];
  count: number;
  depth: number;
}

function walk(filters: readonly Filter[], at: Path, depth: number, found: Walk): Walk {
  found.count += filters.length;
  if (filters.length > 0) found.depth = Math.max(found.depth, depth);
  for (const [index, filter] of filters.entries()) {
    const path = [...at, index];
    const isGroup = filter.name === 'any' || filter.name === 'all';
    if (isGroup) walk(filter.value as Filter[], [...path, 'value'], depth + 1, found);
    else found.references.push(...referencesOf(filter, path, depth));
  }
  return found;
}

/** Parses filters and finds what they name: nothing if there are problems. */
export function outline(filters: readonly unknown[], flow: FlowNames | null = null): Outline {
  const { conditions, problems } = parseFilters(filters, flow);
  const nothing = { references: [], count: 0, depth: 0 };
  if (problems.length > 0) return { conditions: [], problems, ...nothing };
  // The parser has checked the shape of the nested filters, too.
  return { conditions, problems, ...walk(filters as Filter[], [], 1, nothing) };
}

/**
 * Returns the shape of stored filters, whose syntax was checked before. It is small: it leaves out lists, and no stored
 * segment names more than {@link MAX_FILTERS} others.
 */
export function shapeOf(filters: readonly unknown[]): Shape {
  const { references, ...size } = walk(filters as Filter[], [], 1, { references: [], count: 0, depth: 0 });
  const segments = references.filter(({ kind }) => kind === 'segment');
  return { ...size, references: segments.map(({ kind, id, depth }) => ({ kind, id, depth })) };
}

/** Segments by id. */
export type Outlines = Map<number, Outline>;
export type Shapes = ReadonlyMap<number, Shape>;

export const segmentIds = (shapes: Iterable<Shape>) =>
  [...shapes].flatMap(({ references }) =>
    references.filter(({ kind }) => kind === 'segment').map(({ id }) => id),
  );

/** How many filters a segment adds to those that name it. An empty segment counts as one, because it is a condition. */
const weight = ({ count }: Pick<Shape, 'count'>) => Math.max(count, 1);

/**
 * Loads the segments that filters name, directly or through others. Segments of other brands are left out.
 * @param known receives the segments, at most `max`; those already in it are not read again
 * @param max maximum number of all filters
 * @throws AppError validation_error if there are more
 */
export async function loadReferenced(
  db: Queryable,
  { brandId }: Pick<BrandScope, 'brandId'>,
  one: Outline,
  known: Outlines,
  max = MAX_FILTERS,
): Promise<void> {
  let { count } = one;
  let missing = [...new Set(segmentIds([one]))].filter((id) => !known.has(id));
  // One level more than allowed, so that the check finds it.
  for (let level = 0; missing.length > 0 && level <= MAX_DEPTH; level += 1) {
    const { rows } = await db.query<{ id: number; filters: unknown[] }>(
      `select id, filters from segments where brand_id = $1 and id = any($2) limit ${max + 1}`,
      [brandId, missing],
    );
    const named = new Set<number>();
    for (const { id, filters } of rows) {
      const segment = outline(filters);
      count += weight(segment);
      if (count > max) throw invalid({ filters: [TOO_LARGE] });
      known.set(id, segment);
      for (const inner of segmentIds([segment])) named.add(inner);
    }
    missing = [...named].filter((id) => !known.has(id));
  }
}

/** The size of filters, including those of the segments that they name. */
export interface Size {
  count: number;
  depth: number;
}

/**
 * Measures filters.
 * @param inside ids of the segments that lead to these filters
 * @returns null if a segment names itself, directly or through others
 */
export function measure(one: Shape, known: Shapes, inside: readonly number[] = []): Size | null {
  const size = { count: one.count, depth: one.depth };
  for (const { kind, id, depth } of one.references) {
    const named = kind === 'segment' ? known.get(id) : undefined;
    if (kind === 'segment' && inside.includes(id)) return null;
    if (!named) continue;
    const inner = measure(named, known, [...inside, id]);
    if (!inner) return null;
    size.count += weight(inner);
    size.depth = Math.max(size.depth, depth + inner.depth);
    if (isTooLarge(size)) return size;
  }
  return size;
}

export function isTooLarge({ count, depth }: Size): boolean {
  return count > MAX_FILTERS || depth > MAX_DEPTH;
}

/**
 * Replaces the references to segments by the segments' filters.
 * @param known all referenced segments, without cycles; a missing one has no members
 */
export function expand(conditions: readonly Condition[], known: Outlines): Condition[] {
  return conditions.map((condition): Condition => {
    switch (condition.type) {
      case 'all':
      case 'any':
        return { ...condition, parts: expand(condition.parts, known) };
      case 'not':
        return { type: 'not', part: expand([condition.part], known)[0] as Condition };
      case 'segment': {
        const named = condition.ids.flatMap((id) => known.get(id) ?? []);
        return {
          type: 'any',
          parts: named.map((one) => ({ type: 'all', parts: expand(one.conditions, known) })),
        };
      }
      default:
        return condition;
    }
  });
}
