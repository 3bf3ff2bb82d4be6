/** Makes the conditions that compare with a value of a flow run, once the value is known. */
import { numberOf, timeOf } from './json-values.ts';
import { columnKinds, type Condition, type NameKind, type Predicate, type Test } from './language.ts';
import { conditionOf } from './parse.ts';
import { testsOf } from './value-tests.ts';
import { MAX_ITEMS } from './values.ts';

/** Clients write an id as a number in one event, and as a text in another. */
function numberOrText(value: unknown): unknown[] {
  const number = typeof value === 'string' ? numberOf(value) : null;
  return number !== null && String(number) === value ? [value, number] : [value];
}

type Read = (predicate: Predicate, value: unknown) => readonly Test[] | undefined;

/** @returns tests that pass for any of the values. Those that the operand cannot equal, such as null, are left out. */
function anyOf(read: Read, values: readonly unknown[]): Test[] {
  const known = values.filter((value) => read('in', [value]) !== undefined);
  const chunks = Array.from({ length: Math.ceil(known.length / MAX_ITEMS) }, (_, index) =>
    known.slice(index * MAX_ITEMS, (index + 1) * MAX_ITEMS),
  );
  return chunks.flatMap((chunk) => read('in', chunk) ?? []);
}

/** Tests of a value in JSON, which is compared with one of the run. */
function jsonTests(read: Read, predicate: Predicate, value: unknown): readonly Test[] | undefined {
  switch (predicate) {
    case 'eq':
    case 'not_eq':
      if (Array.isArray(value)) return [{ type: 'array', value }];
      // `in` would also find an array that has the value.
      return anyOf(read, numberOrText(value)).filter(({ type }) => type !== 'element');
    case 'in':
    case 'not_in':
      return anyOf(read, [value].flat().flatMap(numberOrText));
    case 'cont':
    case 'not_cont':
      return numberOrText(value).flatMap((one) => read(predicate, one) ?? []);
    case 'start':
    case 'end':
      return read(predicate, value);
    default:
      return read(predicate, numberOf(value) ?? timeOf(value)?.toISOString());
  }
}

/** Tests of a column, which is compared with a value of the run. */
function columnTests(kind: NameKind, read: Read, predicate: Predicate, value: unknown) {
  const plain = (one: unknown) => {
    if (kind === 'id') return numberOf(one);
    if (kind === 'time') return timeOf(one)?.toISOString();
    return typeof one === 'number' ? String(one) : one;
  };
  if (predicate === 'in' || predicate === 'not_in') return anyOf(read, [value].flat().map(plain));
  return read(predicate, plain(value));
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
  const read: Read = (asked, compared) =>
    testsOf({
      kind,
      column,
      predicate: asked,
      value: compared,
      path: [],
      report: () => undefined,
      strict: false,
    });
  const tests =
    column === null ? jsonTests(read, predicate, value) : columnTests(kind, read, predicate, value);
  return (tests && conditionOf(operand, tests)) ?? null;
}
