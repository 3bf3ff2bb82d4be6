import { invalid } from '../../errors.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type Audience, compileEach, fieldOf, loadConditions } from './conditions.ts';
import type { Condition } from './language.ts';
import type { Filter } from './parse.ts';
import type { ContactMatch } from './schema.ts';
import type { Path } from './values.ts';

/** A filter with its condition; a group also has those of the filters inside it. */
interface Part {
  path: Path;
  condition: Condition;
  group: { isAny: boolean; parts: readonly Part[] } | null;
}

/** @param conditions those of the filters, in the same order */
function partsOf(filters: readonly Filter[], conditions: readonly Condition[], at: Path): Part[] {
  if (filters.length !== conditions.length) throw new Error('each filter must have its condition');
  return filters.map(({ name, value }, index) => {
    const condition = conditions[index] as Condition;
    const path = [...at, index];
    const isGroup = name === 'any' || name === 'all';
    if (!isGroup || (condition.type !== 'any' && condition.type !== 'all'))
      return { path, condition, group: null };
    const parts = partsOf(value as Filter[], condition.parts, [...path, 'value']);
    return { path, condition, group: { isAny: name === 'any', parts } };
  });
}

const leavesOf = (parts: readonly Part[]): Part[] =>
  parts.flatMap((part) => (part.group ? leavesOf(part.group.parts) : [part]));

function holds(part: Part, passed: ReadonlyMap<Part, boolean>): boolean {
  if (!part.group) return passed.get(part) === true;
  const { isAny, parts } = part.group;
  return isAny ? parts.some((inner) => holds(inner, passed)) : parts.every((inner) => holds(inner, passed));
}

/** Returns the results of all parts, each group before the parts inside it. */
const resultsOf = (parts: readonly Part[], passed: ReadonlyMap<Part, boolean>): ContactMatch['filters'] =>
  parts.flatMap((part) => [
    { path: fieldOf(part.path), matches: holds(part, passed) },
    ...resultsOf(part.group?.parts ?? [], passed),
  ]);

/**
 * Says which filters a contact matches, also inside groups.
 * @param filters which `loadConditions` accepts
 * @throws AppError validation_error if the brand has no such contact
 */
export async function explainMatch(
  db: Queryable,
  audience: Omit<Audience, 'few'>,
  filters: readonly Filter[],
  contactId: number,
): Promise<ContactMatch> {
  const parts = partsOf(filters, await loadConditions(db, audience, filters), []);
  const leaves = leavesOf(parts);
  const conditions = leaves.map(({ condition }) => condition);
  const written = await compileEach(db, { ...audience, few: true }, conditions, 3);
  const { rows } = await db.query<{ passed: boolean[] }>(
    `select array[${written.map(({ sql }) => sql).join(', ')}]::boolean[] as passed
     from contacts c where c.brand_id = $1 and c.id = $2`,
    [audience.brandId, contactId, ...written.flatMap(({ values }) => values)],
  );
  const results = rows[0]?.passed;
  if (!results) throw invalid({ contact_id: ['is not a contact of the brand'] });
  const passed = new Map(leaves.map((leaf, index) => [leaf, results[index] === true]));
  return {
    contact_id: contactId,
    matches: parts.every((part) => holds(part, passed)),
    filters: resultsOf(parts, passed),
  };
}
