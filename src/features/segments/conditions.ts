import { invalid, notFound, type ValidationErrors } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Condition } from './language.ts';
import type { Problem } from './parse.ts';
import {
  expand,
  isTooLarge,
  loadReferenced,
  measure,
  type Outline,
  outline,
  type Outlines,
  TOO_LARGE,
} from './references.ts';
import { type SqlCondition, writeSql } from './sql.ts';
import type { Path } from './values.ts';

/** Whose contacts, and the end of periods such as the last 30 days. */
export interface Audience extends Pick<BrandScope, 'brandId'> {
  asOf: Date;
}

/** The name of a part of the filters in `validation_errors`: `filters.2.value.0`. */
export const fieldOf = (path: Path) => ['filters', ...path].join('.');

export function errorsOf(problems: readonly Problem[]): ValidationErrors {
  const errors: ValidationErrors = {};
  for (const { path, message } of problems) {
    const field = fieldOf(path);
    errors[field] = [...(errors[field] ?? []), message];
  }
  return errors;
}

/** @throws AppError validation_error */
function requireSize(one: Outline, known: Outlines): void {
  const size = measure(one, known);
  if (!size || isTooLarge(size)) throw invalid({ filters: [TOO_LARGE] });
}

/**
 * Parses filters and replaces the segments that they name by those segments' filters.
 * @returns conditions for `matches`, all of which must hold
 * @throws AppError validation_error
 */
export async function loadConditions(
  db: Queryable,
  scope: Pick<BrandScope, 'brandId'>,
  filters: readonly unknown[],
): Promise<Condition[]> {
  const one = outline(filters);
  const known: Outlines = new Map();
  if (one.problems.length > 0) throw invalid(errorsOf(one.problems));
  await loadReferenced(db, scope, one, known);
  requireSize(one, known);
  return expand(one.conditions, known);
}

function eventsIn(conditions: readonly Condition[]): string[] {
  return conditions.flatMap((condition) => {
    if (condition.type === 'all' || condition.type === 'any') return eventsIn(condition.parts);
    if (condition.type === 'not') return eventsIn([condition.part]);
    return condition.type === 'did' && 'event' in condition.activity ? [condition.activity.event] : [];
  });
}

/** Finds the numbers of event names. A name that no event of the brand ever had is absent. */
async function findEventNames(db: Queryable, brandId: number, names: string[]): Promise<Map<string, number>> {
  if (names.length === 0) return new Map();
  const { rows } = await db.query<{ id: number; name: string }>(
    'select id, name from event_names where brand_id = $1 and name = any($2)',
    [brandId, names],
  );
  return new Map(rows.map(({ id, name }) => [name, id]));
}

/**
 * Compiles filters into an SQL condition over the alias `c` of contacts, which must be used after
 * `where c.brand_id = …`. It is never null, and none of its casts can fail.
 * @param firstParameter the number of its first parameter: 2 for `$2`
 * @throws AppError validation_error
 */
export async function compileFilters(
  db: Queryable,
  { brandId, asOf }: Audience,
  filters: readonly unknown[],
  firstParameter: number,
): Promise<SqlCondition> {
  const conditions = await loadConditions(db, { brandId }, filters);
  const eventNames = await findEventNames(db, brandId, eventsIn(conditions));
  return writeSql(conditions, { brandId, asOf, firstParameter, eventNames });
}

/**
 * Compiles a segment, as {@link compileFilters} does its filters.
 * @throws AppError not_found if the brand has no such segment
 */
export async function segmentCondition(
  db: Queryable,
  audience: Audience,
  segmentId: number,
  firstParameter: number,
): Promise<SqlCondition> {
  const { rows } = await db.query<{ filters: unknown[] }>(
    'select filters from segments where brand_id = $1 and id = $2',
    [audience.brandId, segmentId],
  );
  if (!rows[0]) throw notFound('segment');
  return compileFilters(db, audience, rows[0].filters, firstParameter);
}
