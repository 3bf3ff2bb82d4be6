/** How filters of flows name steps: by id, or by the ref of a step that has no id yet. */
import type { FlowNames, StepName } from './language.ts';
import type { Filter } from './parse.ts';
import { namesRunValue } from './run-values.ts';
import type { Path, Report } from './values.ts';

/** Its second group is an id, its third a ref. */
export const STEP_NAME = /^(step[.])(?:([1-9][0-9]{0,8})|([a-z][a-z0-9_]{0,39}))[.](.*)$/s;

/** The id of a step that has none yet. Filters that name it by its ref are parsed again when it has one. */
const NO_ID = 0;
export const idOf = (step: StepName) => (typeof step === 'number' ? step : NO_ID);

/** @returns false after a report */
export function checkStep(
  { steps }: FlowNames,
  step: StepName,
  types: readonly string[],
  path: Path,
  report: Report,
): boolean {
  if (!steps) return true;
  const type = steps.get(step);
  if (type !== undefined && types.includes(type)) return true;
  const known = [...steps].filter(([, each]) => types.includes(each)).map(([id]) => id);
  const hint =
    known.length > 0
      ? `: the ${types.join(' and ')} steps before it are ${known.slice(0, 10).join(', ')}`
      : `: no ${types.join(' or ')} step comes before`;
  const problem =
    type === undefined ? `names step ${step}, which does not come before` : `names a step of type ${type}`;
  report(path, `${problem}${hint}`);
  return false;
}

export const namesStep = (value: unknown): value is { step: unknown } =>
  typeof value === 'object' && value !== null && 'step' in value;

function nameWithId(name: string, ids: ReadonlyMap<string, number>): string {
  const [, prefix, , ref, rest] = STEP_NAME.exec(name) ?? [];
  return ref === undefined ? name : `${prefix}${ids.get(ref)}.${rest}`;
}

/**
 * Replaces the refs of steps by ids in the filters of a flow, which were parsed without problems.
 * @param ids by ref
 */
export function withStepIds(
  filters: readonly unknown[],
  ids: ReadonlyMap<string, number>,
): readonly unknown[] {
  return (filters as readonly Filter[]).map((filter) => {
    const { name, value } = filter;
    if (name === 'any' || name === 'all') return { ...filter, value: withStepIds(value as Filter[], ids) };
    if (namesStep(value) && typeof value.step === 'string') {
      return { ...filter, value: { ...value, step: ids.get(value.step) } };
    }
    const from = namesRunValue(value) && { value: { from: nameWithId(String(value.from), ids) } };
    return { ...filter, name: nameWithId(name, ids), ...from };
  });
}
