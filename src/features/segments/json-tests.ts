/** The tests of values in JSON, which have any type: each considers the values of its own. */
import type { ElementTest, Test } from './language.ts';
import { MAX_ITEMS, type Path, readMany, readPart, readScalar, readText, type Report } from './values.ts';

/** Maximum depth of an array that is compared as a whole; `data` is not deeper. */
const MAX_LEVELS = 20;

/** Returns the tests for values of any type: one for each type among them. */
function scalarTests(values: readonly (string | number | boolean)[]): ElementTest[] {
  const texts = values.filter((value) => typeof value === 'string');
  const numbers = values.filter((value) => typeof value === 'number');
  const booleans = [...new Set(values.filter((value) => typeof value === 'boolean'))];
  return [
    ...(texts.length > 0 ? [{ type: 'text', match: 'equal', values: texts } as const] : []),
    ...(numbers.length > 0 ? [{ type: 'number', match: 'equal', values: numbers } as const] : []),
    ...booleans.map((value) => ({ type: 'boolean', value }) as const),
  ];
}

const elementTests = (values: readonly (string | number | boolean)[]): Test[] =>
  scalarTests(values).map((test) => ({ type: 'element', test }));

/** @returns whether the JSON value can be compared; false after a report */
function isComparable(value: unknown, levels: number, path: Path, report: Report): boolean {
  if (value === null || typeof value === 'boolean') return true;
  if (typeof value === 'string') return readText(value, path, report) !== undefined;
  if (typeof value !== 'object') return readScalar(value, path, report) !== undefined;
  if (levels === 0) report(path, `is nested too deeply: at most ${MAX_LEVELS} levels`);
  return (
    levels > 0 &&
    Object.entries(value).every(([name, inner]) => isComparable(inner, levels - 1, [...path, name], report))
  );
}

function wholeTest(value: readonly unknown[], path: Path, report: Report): Test[] | undefined {
  if (value.length > MAX_ITEMS) return void report(path, `must have at most ${MAX_ITEMS} items`);
  return isComparable(value, MAX_LEVELS, path, report) ? [{ type: 'array', value }] : undefined;
}

/**
 * Reads the value of `eq` or `in`, or of their opposites. `eq` compares an array as a whole, and `in` also finds an array
 * that has one of the values.
 * @returns tests, of which at least one must pass; undefined after a report
 */
export function equalJsonTests(
  isIn: boolean,
  value: unknown,
  path: Path,
  report: Report,
): Test[] | undefined {
  if (!isIn && Array.isArray(value)) return wholeTest(value, path, report);
  const values = readMany(isIn, readScalar)(value, path, report);
  if (!values) return undefined;
  return isIn ? [...scalarTests(values), ...elementTests(values)] : scalarTests(values);
}

/** Reads the value of `cont` or `not_cont`: a part of a text, or an element of an array. */
export function containsJsonTests(value: unknown, path: Path, report: Report): Test[] | undefined {
  if (typeof value !== 'string') {
    const scalar = readScalar(value, path, report);
    return scalar === undefined ? undefined : elementTests([scalar]);
  }
  const part = readPart(value, path, report);
  return part === undefined
    ? undefined
    : [{ type: 'text', match: 'contains', value: part }, ...elementTests([part])];
}

/** Whether two JSON values are equal, as PostgreSQL compares them. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every(
      (name) =>
        Object.hasOwn(other, name) &&
        isSameJson((one as Record<string, unknown>)[name], (other as Record<string, unknown>)[name]),
    )
  );
}
