/** Filters of flows that compare with a value of the run: `{"from": "trigger.cart_id"}`. */
import type { FlowNames, Predicate } from './language.ts';
import { keysOfName } from './name-path.ts';
import type { Path, Report } from './values.ts';

/** The first keys of the names of values that only a flow run has. */
export const flowRoots = ['trigger', 'received', 'step'];

/** The predicates that can compare with one value. */
const comparable: readonly Predicate[] = [
  'eq',
  'not_eq',
  'in',
  'not_in',
  'cont',
  'not_cont',
  'start',
  'end',
  'gt',
  'gteq',
  'lt',
  'lteq',
];

const MAX_NAME = 300;

/** Whether the value of a filter is one of the run. */
export const namesRunValue = (value: unknown): value is { from: unknown } =>
  typeof value === 'object' && value !== null && 'from' in value;

/**
 * Checks a filter that compares with a value of the run, except that the value exists.
 * @param at path of the filter
 * @returns the name of the value; undefined after a report
 */
export function checkCompared(
  flow: FlowNames,
  predicate: Predicate,
  value: { from: unknown },
  at: Path,
  report: Report,
): string | undefined {
  const path = [...at, 'value'];
  const { from } = value;
  if (Object.keys(value).length > 1) return void report(path, 'can have only the field from');
  if (flow.compares === false) return void report(path, 'can compare with a value of the run only in a step');
  if (!comparable.includes(predicate)) {
    const message = `must be one of ${comparable.join(', ')} to compare with a value of the run`;
    return void report([...at, 'predicate'], message);
  }
  const isName = typeof from === 'string' && from.length <= MAX_NAME;
  const [root = '', ...others] = (isName && keysOfName(from)) || [];
  if (isName && flowRoots.includes(root) && others.length > 0) return from;
  const prefixes = flowRoots.map((name) => `${name}.`).join(', ');
  return void report([...path, 'from'], `must name a value of the run that begins with one of ${prefixes}`);
}
