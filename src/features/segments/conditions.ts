import { AppError, invalid, notFound, type ValidationErrors } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type Condition, type FlowNames, MAX_FILTERS } from './language.ts';
import { campaignProblems } from './campaign-mail.ts';
import type { Problem } from './parse.ts';
import {
  expand,
  isTooLarge,
  loadReferenced,
  measure,
  type Outline,
  outline,
  type Outlines,
  type Reference,
  segmentIds,
  TOO_LARGE,
} from './references.ts';
import { type SqlCondition, writeSql } from './sql.ts';
import type { Path } from './values.ts';

/** Whose contacts, and the time at which periods such as the last 30 days end. */
export interface Audience extends Pick<BrandScope, 'brandId'> {
  asOf: Date;
  /** Whether the statement asks only for a few contacts, by their ids. */
  few?: boolean;
  /** Whether it asks only for the contacts of a page, by a range of ids. */
  paged?: boolean;
}

/** The key of a part of the filters in `validation_errors`: `filters.2.value.0`. */
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
 * Maximum number of filters of a stored flow, with those of its segments, which may have grown since it was saved: each
 * of its filters may name a segment of the maximum size.
 */
const MAX_STORED_FILTERS = MAX_FILTERS * (MAX_FILTERS + 1);

/**
 * Parses filters and replaces the segments that they name by those segments' filters.
 * @param flow what filters of a stored flow may name; their values of the run must be folded. Such filters may be
 *   larger than others, because their segments may have grown since the flow was saved.
 * @returns conditions for `matches`, all of which must hold
 * @throws AppError validation_error
 */
export async function loadConditions(
  db: Queryable,
  scope: Pick<BrandScope, 'brandId'>,
  filters: readonly unknown[],
  flow: FlowNames | null = null,
): Promise<Condition[]> {
  const one = outline(filters, flow);
  const known: Outlines = new Map();
  if (one.problems.length > 0) throw invalid(errorsOf(one.problems));
  await loadReferenced(db, scope, one, known, flow ? MAX_STORED_FILTERS : MAX_FILTERS);
  if (!flow) requireSize(one, known);
  return expand(one.conditions, known);
}

function eventsIn(conditions: readonly Condition[]): string[] {
  return conditions.flatMap((condition) => {
    if (condition.type === 'all' || condition.type === 'any') return eventsIn(condition.parts);
    if (condition.type === 'not') return eventsIn([condition.part]);
    return condition.type === 'did' && 'event' in condition.activity ? [condition.activity.event] : [];
  });
}

/** Finds the numbers of event names. Names that no event of the brand ever had are missing from the result. */
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
 * @param firstParameter number of the condition's first parameter: 2 for `$2`
 * @throws AppError validation_error
 */
export async function compileFilters(
  db: Queryable,
  audience: Audience,
  filters: readonly unknown[],
  firstParameter: number,
): Promise<SqlCondition> {
  return compileConditions(db, audience, await loadConditions(db, audience, filters), firstParameter);
}

/** Like {@link compileFilters}, for parsed conditions. @param conditions without values that only a flow run has */
export async function compileConditions(
  db: Queryable,
  audience: Audience,
  conditions: readonly Condition[],
  firstParameter: number,
): Promise<SqlCondition> {
  const eventNames = await findEventNames(db, audience.brandId, eventsIn(conditions));
  return writeSql(conditions, { ...audience, firstParameter, eventNames });
}

/**
 * Compiles conditions one by one, for one statement.
 * @param conditions without values that only a flow run has
 * @param firstParameter number of the first parameter of the first condition; each continues after the one before
 */
export async function compileEach(
  db: Queryable,
  audience: Audience,
  conditions: readonly Condition[],
  firstParameter: number,
): Promise<SqlCondition[]> {
  const eventNames = await findEventNames(db, audience.brandId, eventsIn(conditions));
  let next = firstParameter;
  return conditions.map((condition) => {
    const written = writeSql([condition], { ...audience, firstParameter: next, eventNames });
    next += written.values.length;
    return written;
  });
}

/**
 * Like {@link compileFilters}, for the filters of a segment.
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

/**
 * Checks the references of filters that are otherwise valid: their lists, segments and campaigns must be those of the
 * brand, and all filters together must not be too many. In a transaction, none of the lists and segments can be deleted until it
 * ends.
 * @param flow what filters of a flow may name
 */
export async function referenceProblems(
  db: Queryable,
  scope: Pick<BrandScope, 'brandId'>,
  filters: readonly unknown[],
  flow: FlowNames | null = null,
): Promise<Problem[]> {
  const one = outline(filters, flow);
  if (one.problems.length > 0 || one.references.length === 0) return one.problems;
  const known: Outlines = new Map();
  // The lock also protects the segments that these name, because a segment that another one names cannot be deleted.
  await db.query('select 1 from segments where brand_id = $1 and id = any($2) order by id for key share', [
    scope.brandId,
    segmentIds([one]),
  ]);
  try {
    await loadReferenced(db, scope, one, known);
    requireSize(one, known);
  } catch (error) {
    if (error instanceof AppError && error.code === 'validation_error')
      return [{ path: [], message: TOO_LARGE }];
    throw error;
  }
  const listIds = one.references.filter(({ kind }) => kind === 'list').map(({ id }) => id);
  const { rows } = await db.query<{ id: number }>(
    'select id from lists where brand_id = $1 and id = any($2) and removed_at is null order by id for share',
    [scope.brandId, listIds],
  );
  const lists = new Set(rows.map(({ id }) => id));
  return [
    ...missingProblems(one.references, { lists, segments: known }),
    ...(await campaignProblems(db, scope, one.references)),
  ];
}

/** Returns a problem for each list and each segment that is none of the given ones. */
export const missingProblems = (
  references: readonly Reference[],
  known: { lists: ReadonlySet<number>; segments: ReadonlyMap<number, unknown> },
): Problem[] =>
  references.flatMap(({ kind, id, path }) => {
    if (kind === 'campaign' || (kind === 'list' ? known.lists : known.segments).has(id)) return [];
    return [{ path, message: `is not a ${kind} of the brand` }];
  });
