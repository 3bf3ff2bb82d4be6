/** Evaluates the filters of a flow's trigger for many entries at once. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import {
  compileConditions,
  type Condition,
  constantOf,
  fold,
  loadConditions,
  parseFilters,
} from '../../segments/index.ts';

type Data = Readonly<Record<string, unknown>>;

/** What filters read of an entry. */
export interface FilteredEntry {
  id: number;
  contact_id: number;
  /** The data of the event that caused the entry; null if it was not an event. */
  data: Data | null;
}

export interface FilterContext {
  brandId: number;
  asOf: Date;
}

/** Replaces conditions on the event by constants. */
function foldFor(entry: FilteredEntry, conditions: readonly Condition[], asOf: Date): Condition {
  return fold(
    { type: 'all', parts: conditions },
    {
      asOf,
      valuesOf: (values) => (values === 'trigger' ? entry.data : null),
      engagedAt: () => null,
    },
  );
}

function namesValue(condition: Condition, name: string): boolean {
  switch (condition.type) {
    case 'all':
    case 'any':
      return condition.parts.some((part) => namesValue(part, name));
    case 'not':
      return namesValue(condition.part, name);
    case 'value': {
      const { operand } = condition;
      return 'of' in operand && operand.of === 'trigger' && operand.path.join('.') === name;
    }
    default:
      return false;
  }
}

/** Whether one of the filters of a trigger, at any depth, is about `trigger.<name>`. */
export function namesTriggerValue(filters: readonly unknown[], name: string): boolean {
  const { conditions } = parseFilters(filters, { steps: null, received: false });
  return conditions.some((condition) => namesValue(condition, name));
}

async function contactsFor(
  db: Queryable,
  { brandId, asOf }: FilterContext,
  condition: Condition,
  contactIds: readonly number[],
): Promise<Set<number>> {
  const { sql, values } = await compileConditions(db, { brandId, asOf, few: true }, [condition], 3);
  const { rows } = await db.query<{ id: number }>(
    `select c.id from contacts c where c.brand_id = $1 and c.id = any($2) and ${sql}`,
    [brandId, contactIds, ...values],
  );
  return new Set(rows.map(({ id }) => id));
}

/**
 * Finds the entries that pass all filters. Entries whose events leave the same conditions to check share one statement:
 * if no filter names a value of the event, one statement checks all entries.
 * @throws AppError validation_error if the filters are invalid; those of a saved flow are valid
 */
export async function passingEntries(
  db: Queryable,
  context: FilterContext,
  filters: readonly unknown[],
  entries: readonly FilteredEntry[],
): Promise<Set<number>> {
  if (filters.length === 0) return new Set(entries.map(({ id }) => id));
  const { brandId, asOf } = context;
  const conditions = await loadConditions(db, { brandId }, filters, { steps: null, received: false });
  const passing = new Set<number>();
  const open = new Map<string, { condition: Condition; entries: FilteredEntry[] }>();
  for (const entry of entries) {
    const condition = foldFor(entry, conditions, asOf);
    const known = constantOf(condition);
    if (known === true) passing.add(entry.id);
    if (known !== null) continue;
    const question = JSON.stringify(condition);
    const group = open.get(question) ?? { condition, entries: [] };
    group.entries.push(entry);
    open.set(question, group);
  }
  for (const group of open.values()) {
    const contactIds = [...new Set(group.entries.map((entry) => entry.contact_id))];
    const matching = await contactsFor(db, context, group.condition, contactIds);
    for (const { id, contact_id: contactId } of group.entries) if (matching.has(contactId)) passing.add(id);
  }
  return passing;
}
