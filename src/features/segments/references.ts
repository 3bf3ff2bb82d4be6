import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type Condition, MAX_DEPTH, MAX_FILTERS } from './language.ts';
import { type Filter, parseFilters, type Problem } from './parse.ts';
import type { Path } from './values.ts';

/** A list or segment that filters name. */
export interface Reference {
  kind: 'list' | 'segment';
  id: number;
  /** Below the filters: `[2, 'value', 0]`. */
  path: Path;
  /** Of the filter that has it; 1 for those that are in no group. */
  depth: number;
}

/** Filters with what they name. */
export interface Outline {
  conditions: Condition[];
  problems: Problem[];
  references: Reference[];
  /** Filters in all, without those of referenced segments. */
  count: number;
  depth: number;
}

function referencesOf({ name, predicate, value }: Filter, at: Path, depth: number): Reference[] {
  if (name !== 'list' && name !== 'segment') return [];
  if (predicate === 'eq' || predicate === 'not_eq') {
    return [{ kind: name, id: value as number, path: [...at, 'value'], depth }];
  }
  return (value as number[]).map((id, index) => ({ kind: name, id, path: [...at, 'value', index], depth }));
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
    if (isGroup) walk(filter.value as unknown as Filter[], [...path, 'value'], depth + 1, found);
    else found.references.push(...referencesOf(filter, path, depth));
  }
  return found;
}

/** Parses filters and finds what they name. If there are problems, nothing is named. */
export function outline(filters: readonly unknown[]): Outline {
  const { conditions, problems } = parseFilters(filters);
  const nothing = { references: [], count: 0, depth: 0 };
  if (problems.length > 0) return { conditions: [], problems, ...nothing };
  // The parser has checked the shape of the nested filters, too.
  return { conditions, problems, ...walk(filters as Filter[], [], 1, nothing) };
}

/** Segments by id. */
export type Outlines = Map<number, Outline>;

const segmentIds = (outlines: Iterable<Outline>) =>
  [...outlines].flatMap(({ references }) =>
    references.filter(({ kind }) => kind === 'segment').map(({ id }) => id),
  );

/**
 * Loads the segments that filters name, those that these name, and so on. A segment of another brand is absent.
 * @param known receives them; those that it has are not read again
 */
export async function loadReferenced(
  db: Queryable,
  { brandId }: Pick<BrandScope, 'brandId'>,
  from: Iterable<Outline>,
  known: Outlines,
): Promise<void> {
  let missing = [...new Set(segmentIds(from))].filter((id) => !known.has(id));
  // One more level than allowed, so that the check finds it.
  for (let level = 0; missing.length > 0 && level <= MAX_DEPTH; level += 1) {
    const { rows } = await db.query<{ id: number; filters: unknown[] }>(
      'select id, filters from segments where brand_id = $1 and id = any($2)',
      [brandId, missing],
    );
    const read = rows.map(({ id, filters }) => [id, outline(filters)] as const);
    for (const [id, one] of read) known.set(id, one);
    missing = [...new Set(segmentIds(read.map(([, one]) => one)))].filter((id) => !known.has(id));
  }
}

/** The size of filters with those of the segments that they name. */
export interface Size {
  count: number;
  depth: number;
}

/**
 * Measures filters.
 * @param inside ids of the segments that contain these filters
 * @returns null if a segment names itself, directly or through others
 */
export function measure(one: Outline, known: Outlines, inside: readonly number[] = []): Size | null {
  const size = { count: one.count, depth: one.depth };
  for (const { kind, id, depth } of one.references) {
    const named = kind === 'segment' ? known.get(id) : undefined;
    if (kind === 'segment' && inside.includes(id)) return null;
    if (!named) continue;
    const inner = measure(named, known, [...inside, id]);
    if (!inner) return null;
    size.count += inner.count;
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
 * @param known every referenced segment, without cycles; one that is absent contains nobody
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
