/** Makes the conditions that compare with a value of a flow run, once the value is known. */
import { numberOf, timeOf } from './json-values.ts';
import { columnKinds, type Condition, type NameKind, type Predicate } from './language.ts';
import { conditionOf, matches, testsOf } from './parse.ts';
import { equalities } from './run-values.ts';

/** Clients write an id as a number in one event, and as a text in another. */
function numberOrText(value: unknown): unknown[] {
  const number = typeof value === 'string' ? numberOf(value) : null;
  return number !== null && String(number) === value ? [value, number] : [value];
}

/** Prepares a value of the run, whose type is known only there, for a filter that compares with it. */
function comparedValue(kind: NameKind, predicate: Predicate, value: unknown): unknown {
  if (equalities.includes(predicate)) {
    const values: unknown[] = Array.isArray(value) ? value : [value];
    if (kind === 'json') return values.flatMap(numberOrText);
    return kind === 'id' ? values.map(numberOf) : values;
  }
  if (matches[predicate as keyof typeof matches]) return value;
  if (kind === 'time') return timeOf(value)?.toISOString();
  return numberOf(value) ?? timeOf(value)?.toISOString();
}

/**
 * Makes the condition that a filter means once the value of the run is known. A negative filter is the opposite of it.
 * @returns null if the value is missing or of another type, so that nothing equals it
 */
export function compareWith(
  { operand, predicate }: Condition & { type: 'compared' },
  value: unknown,
): Condition | null {
  if (value === undefined || value === null) return null;
  const column = 'column' in operand ? operand.column : null;
  const kind = column === null ? 'json' : columnKinds[column];
  const tests = testsOf({
    kind,
    column,
    predicate: equalities.includes(predicate) ? 'in' : predicate,
    value: comparedValue(kind, predicate, value),
    path: [],
    report: () => undefined,
    strict: false,
  })?.filter(
    ({ type }) =>
      type !== 'element' || predicate === 'in' || predicate === 'not_in' || !equalities.includes(predicate),
  );
  return (tests && conditionOf(operand, tests)) ?? null;
}
