/**
 * Limits on the lists and objects of a template. A list may refer to one long text, or another list, many times. V8
 * ends the whole process if a single allocation, such as for the text of such a list, far exceeds the memory of a
 * thread.
 */
import { Drop, type FilterImplOptions } from 'liquidjs';
import { bounded } from './values.ts';

/** The weight of an element, in characters, in addition to its own text and its depth. */
const ELEMENT = 8;

type FilterHandler = Extract<FilterImplOptions, (...args: never[]) => unknown>;
type FilterThis = ThisParameterType<FilterHandler>;

/**
 * Weighs a list or an object as if everything that it refers to more than once were copied. The depth counts too,
 * because `json` may indent.
 * @returns `weight` plus the weight of the value, in characters
 * @throws TextLimitError if that exceeds the longest text allowed
 */
function weigh(value: unknown, weight: number, depth: number): number {
  const plain = value instanceof Drop ? value.valueOf() : value;
  let sum = weight + ELEMENT + depth;
  if (typeof plain === 'string') sum += plain.length;
  bounded(sum);
  if (Array.isArray(plain)) {
    for (const each of plain) sum = weigh(each, sum, depth + 1);
  } else if (typeof plain === 'object' && plain !== null && !(plain instanceof Drop)) {
    for (const [key, each] of Object.entries(plain)) sum = weigh(each, sum + key.length, depth + 1);
  }
  return sum;
}

/** @throws TextLimitError for a text, a list or an object that is too large */
function checkSize(value: unknown): void {
  if (typeof value === 'string') bounded(value.length);
  else if (typeof value === 'object' && value !== null) weigh(value, 0, 0);
}

/** Wraps a filter so that it throws `TextLimitError` if an argument or its result is too large. */
export function withLimits(filter: FilterHandler): FilterHandler {
  return function* limited(this: FilterThis, value: unknown, ...args: unknown[]): Generator<unknown> {
    checkSize(value);
    for (const arg of args) checkSize(arg);
    const made = (yield filter.call(this, value, ...args)) as unknown;
    checkSize(made);
    return made;
  };
}
