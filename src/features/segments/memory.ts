import { parseEmailAddress } from '../../delivery/terms/addresses/email.ts';
import { booleanOf, numberOf, timeOf } from './json-values.ts';
import { isSameJson } from './json-tests.ts';
import {
  type Activity,
  before,
  type ColumnName,
  type Comparison,
  type Condition,
  type Operand,
  type Test,
} from './language.ts';

type ColumnValue = string | number | boolean | Date | null;

/** The data of a contact that filters need when they are evaluated without SQL. */
export interface ContactInMemory {
  columns: Record<ColumnName, ColumnValue>;
  /** The contact's `data`. */
  data: Readonly<Record<string, unknown>>;
  listIds: ReadonlySet<number>;
  /**
   * Counts what the contact did. Events sent with a test key do not count.
   * @param since null: ever
   */
  count(activity: Activity, since: Date | null): number;
  /** The end of periods such as the last 30 days. */
  asOf: Date;
}

const lowerAscii = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());

const parts = {
  contains: (text: string, part: string) => text.includes(part),
  starts: (text: string, part: string) => text.startsWith(part),
  ends: (text: string, part: string) => text.endsWith(part),
};

function passes<T extends number | Date>(value: T, comparison: Comparison<T>): boolean {
  switch (comparison.order) {
    case 'gt':
      return value > comparison.value;
    case 'gteq':
      return value >= comparison.value;
    case 'lt':
      return value < comparison.value;
    case 'lteq':
      return value <= comparison.value;
    case 'between':
      return value >= comparison.low && value <= comparison.high;
  }
}

function timePasses(time: Date | null, test: Test & { type: 'time' }, asOf: Date): boolean {
  if (!time) return false;
  switch (test.match) {
    case 'compare':
      return passes(time, test.comparison);
    case 'older_than':
      return time < before(asOf, test.period);
    case 'within_last':
      return time >= before(asOf, test.period) && time <= asOf;
  }
}

/** @param address as it is stored */
function addressPasses(address: string, test: Test & { type: 'address' }): boolean {
  const email = parseEmailAddress(address);
  const key = 'error' in email ? address : email.key;
  switch (test.match) {
    case 'equal':
      return test.keys.includes(key);
    case 'pattern':
      return new RegExp(test.pattern).test(key);
    default:
      return test.parts.some((part) => parts[test.match](key, part));
  }
}

/** Whether a value is not blank. */
export function isPresent(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return false;
  if (typeof value !== 'object' || value instanceof Date) return true;
  return Object.keys(value).length > 0;
}

/** Whether a JSON value or the value of a column passes a test. */
export function testPasses(value: unknown, test: Test, asOf: Date): boolean {
  switch (test.type) {
    case 'text':
      if (typeof value !== 'string') return false;
      if (test.match === 'equal') return test.values.includes(value);
      return parts[test.match](lowerAscii(value), lowerAscii(test.value));
    case 'address':
      return typeof value === 'string' && addressPasses(value, test);
    case 'number': {
      const number = numberOf(value);
      if (number === null) return false;
      return test.match === 'equal' ? test.values.includes(number) : passes(number, test.comparison);
    }
    case 'time':
      return timePasses(value instanceof Date ? value : timeOf(value), test, asOf);
    case 'boolean':
      return booleanOf(value) === test.value;
    case 'present':
      return isPresent(value);
    case 'element':
      return Array.isArray(value) && value.some((element) => testPasses(element, test.test, asOf));
    case 'array':
      return isSameJson(value, test.value);
  }
}

/** The value at a path of nested objects; undefined if there is none. */
export function valueAt(object: unknown, path: readonly string[]): unknown {
  let value = object;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    value = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
  }
  return value;
}

function valueOf(operand: Operand, contact: ContactInMemory): unknown {
  if ('column' in operand) return contact.columns[operand.column];
  if ('of' in operand) throw new Error('values of a flow run must be folded first');
  return valueAt(contact.data, operand.path);
}

function holds(condition: Condition, contact: ContactInMemory): boolean {
  switch (condition.type) {
    case 'all':
      return condition.parts.every((part) => holds(part, contact));
    case 'any':
      return condition.parts.some((part) => holds(part, contact));
    case 'not':
      return !holds(condition.part, contact);
    case 'value':
      return testPasses(valueOf(condition.operand, contact), condition.test, contact.asOf);
    case 'list':
      return condition.ids.some((id) => contact.listIds.has(id));
    case 'segment':
      throw new Error('referenced segments must be replaced by their filters first');
    case 'did': {
      const since = condition.within && before(contact.asOf, condition.within);
      return contact.count(condition.activity, since) >= condition.atLeast;
    }
    case 'engaged':
    case 'compared':
      throw new Error('values of a flow run must be folded first');
  }
}

/**
 * Evaluates filters without the database, with the same result as their SQL.
 * @param conditions as `loadConditions` returns them, without references to segments
 */
export function matches(conditions: readonly Condition[], contact: ContactInMemory): boolean {
  return conditions.every((condition) => holds(condition, contact));
}
