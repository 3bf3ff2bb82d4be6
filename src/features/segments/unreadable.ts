/** Warns about values in `data` that a filter asks for a time, although they are none. They match like missing ones. */
import type { Queryable } from '../../platform/db/queryable.ts';
import { shapeOf } from '../../platform/input/times.ts';
import { fieldOf } from './conditions.ts';
import { jsonTimeSql } from './json-values.ts';
import type { Condition } from './language.ts';
import { nameOfKeys } from './name-path.ts';
import type { Filter } from './parse.ts';
import type { FilterWarning } from './schema.ts';
import type { Path } from './values.ts';

/** How many of the newest contacts are read. */
const LOOKED_AT = 1_000;

/** A filter that compares a value in `data` with a time. */
interface Asked {
  at: Path;
  path: readonly string[];
}

/** @param conditions those of the filters, in the same order */
function askedIn(filters: readonly Filter[], conditions: readonly Condition[], at: Path = []): Asked[] {
  return filters.flatMap(({ name, value }, index) => {
    const [condition, here] = [conditions[index], [...at, index]];
    if (!condition) return [];
    if ((name === 'any' || name === 'all') && 'parts' in condition) {
      return askedIn(value as Filter[], condition.parts, [...here, 'value']);
    }
    if (condition.type !== 'value' || condition.test.type !== 'time') return [];
    return 'path' in condition.operand && !('of' in condition.operand)
      ? [{ at: here, path: condition.operand.path }]
      : [];
  });
}

/** SQL: the number of values that are not times among those of the newest contacts, and one of them. `$1`: the brand. */
function countSql(path: readonly string[]): string {
  const json = `(n.data${path.map((_, index) => ` -> $${index + 2}::text`).join('')})`;
  return `with newest as (select data from contacts where brand_id = $1 order by id desc limit ${LOOKED_AT})
    select count(*) as count, min(j.value #>> '{}') as sample from newest n, lateral (select ${json} as value) j
    where coalesce(j.value, 'null') not in ('null'::jsonb, '""'::jsonb, '[]'::jsonb, '{}'::jsonb)
      and (${jsonTimeSql('j.value')}) is null`;
}

/**
 * Counts the values of the newest contacts that filters cannot read as a time.
 * @param filters which `loadConditions` accepts
 * @param conditions those of the filters, in the same order
 */
export async function unreadableWarnings(
  db: Queryable,
  brandId: number,
  filters: readonly Filter[],
  conditions: readonly Condition[],
): Promise<FilterWarning[]> {
  const warnings: FilterWarning[] = [];
  for (const { at, path } of askedIn(filters, conditions)) {
    const { rows } = await db.query<{ count: number; sample: string | null }>(countSql(path), [
      brandId,
      ...path,
    ]);
    const { count = 0, sample = null } = rows[0] ?? {};
    if (count === 0) continue;
    const name = nameOfKeys('data', path);
    const values = count === 1 ? '1 value that is not a time' : `${count} values that are not times`;
    warnings.push({
      path: fieldOf(at),
      message: `${name} has ${values}, such as one of the form ${shapeOf(sample)}, among the newest ${LOOKED_AT.toLocaleString('en')} contacts. They match like missing ones.`,
    });
  }
  return warnings;
}
