import { addressTests, isAddress } from './addresses.ts';
import { containsJsonTests, equalJsonTests } from './json-tests.ts';
import {
  type ColumnName,
  type NameKind,
  type Order,
  type Predicate,
  statuses,
  type Test,
} from './language.ts';
import {
  type Path,
  readBoolean,
  readComparison,
  readId,
  readMany,
  readNothing,
  readNumber,
  readOneOf,
  readOrdered,
  readPart,
  readPeriod,
  readText,
  readTime,
  type ReadValue,
  type Report,
} from './values.ts';

interface Reading {
  kind: NameKind;
  column: ColumnName | null;
  predicate: Predicate;
  value: unknown;
  path: Path;
  report: Report;
  strict: boolean;
}

function equalityTests({ kind, column, predicate, value, path, report }: Reading): Test[] | undefined {
  const isArray = predicate === 'in' || predicate === 'not_in';
  const many = <T>(read: ReadValue<T>) => readMany(isArray, read)(value, path, report);
  switch (kind) {
    case 'id': {
      const values = many(readId);
      return values && [{ type: 'number', match: 'equal', values }];
    }
    case 'boolean': {
      const values = many(readBoolean);
      return values?.map((one) => ({ type: 'boolean', value: one }));
    }
    case 'json':
      return equalJsonTests(isArray, value, path, report);
    default: {
      const known = column && statuses[column];
      const values = many(known ? readOneOf(known) : readText);
      return values && [{ type: 'text', match: 'equal', values }];
    }
  }
}

function comparisonTest(order: Order | 'between', { kind, value, path, report }: Reading): Test | undefined {
  if (kind === 'id') {
    const comparison = readComparison(order, readNumber)(value, path, report);
    return comparison && { type: 'number', match: 'compare', comparison };
  }
  const read: ReadValue<number | Date> = kind === 'time' ? readTime : readOrdered;
  const comparison = readComparison(order, read)(value, path, report);
  if (!comparison) return undefined;
  const sample = comparison.order === 'between' ? comparison.low : comparison.value;
  // The readers ensure that both bounds have the same type.
  return typeof sample === 'number'
    ? ({ type: 'number', match: 'compare', comparison } as Test)
    : ({ type: 'time', match: 'compare', comparison } as Test);
}

const matches = { cont: 'contains', not_cont: 'contains', start: 'starts', end: 'ends' } as const;

/** @returns tests, of which at least one must pass; undefined after a report */
export function testsOf(reading: Reading): Test[] | undefined {
  const { column, predicate, value, path, report } = reading;
  const ofAddress = isAddress(column) ? addressTests({ ...reading, column }) : null;
  if (ofAddress !== null) return ofAddress;
  switch (predicate) {
    case 'eq':
    case 'not_eq':
    case 'in':
    case 'not_in':
      return equalityTests(reading);
    case 'cont':
    case 'not_cont':
    case 'start':
    case 'end': {
      const isJson = reading.kind === 'json';
      if (isJson && matches[predicate] === 'contains') return containsJsonTests(value, path, report);
      const part = readPart(value, path, report);
      return part === undefined ? undefined : [{ type: 'text', match: matches[predicate], value: part }];
    }
    case 'gt':
    case 'gteq':
    case 'lt':
    case 'lteq':
    case 'between': {
      const test = comparisonTest(predicate, reading);
      return test && [test];
    }
    case 'within_last':
    case 'older_than': {
      const period = readPeriod(value, path, report);
      return period && [{ type: 'time', match: predicate, period }];
    }
    case 'true':
    case 'false':
      return readNothing(value, path, report) && [{ type: 'boolean', value: predicate === 'true' }];
    case 'present':
    case 'blank':
      return readNothing(value, path, report) && [{ type: 'present' }];
    default:
      return undefined;
  }
}
