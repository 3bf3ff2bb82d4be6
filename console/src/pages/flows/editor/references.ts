/** How steps name each other: in filters, and in `include_since`. A step may only name steps that come before it. */
import { isObject } from '../../../ui/json-text.ts';
import { branchesOf, keyOf, type StepKey } from '../flow-layout.ts';
import { allSteps, type Step } from './model.ts';
import { nameOf } from './texts.ts';

type Filter = NonNullable<Step['filters']>[number];

/** `step.<id or ref>.<path>`, as in the filters of the API. */
const STEP_NAME = /^step\.([1-9]\d{0,8}|[a-z][a-z0-9_]{0,39})\./;

const isGroup = ({ name }: Filter) => name === 'any' || name === 'all';
const toKey = (name: string): StepKey => (/^\d/.test(name) ? Number(name) : name);
const isKey = (value: unknown): value is StepKey => typeof value === 'number' || typeof value === 'string';

/** The step that a filter names; null if it names none. */
function namedBy({ name, value }: Filter): StepKey | null {
  const [, named] = STEP_NAME.exec(name) ?? [];
  if (named !== undefined) return toKey(named);
  return isObject(value) && isKey(value.step) ? value.step : null;
}

function namedByFilters(filters: readonly Filter[]): StepKey[] {
  return filters.flatMap((filter) => {
    if (isGroup(filter)) return Array.isArray(filter.value) ? namedByFilters(filter.value as Filter[]) : [];
    return namedBy(filter) ?? [];
  });
}

/** Returns the keys of the steps that a step names, without what steps in its branches name. */
export function namedIn({ filters, include_since: since }: Step): StepKey[] {
  const named = namedByFilters(filters ?? []);
  return isObject(since) && isKey(since.step) ? [...named, since.step] : named;
}

/** A name of a step that does not come before the step that uses the name. */
export interface Broken {
  step: StepKey;
  names: StepKey;
}

/** Finds names of steps that do not come before. A branch does not see the steps of its sibling branches. */
export function brokenReferences(steps: readonly Step[]): Broken[] {
  const broken: Broken[] = [];
  const check = (sequence: readonly Step[], before: ReadonlySet<StepKey>): ReadonlySet<StepKey> => {
    const seen = new Set(before);
    for (const step of sequence) {
      for (const names of namedIn(step)) if (!seen.has(names)) broken.push({ step: keyOf(step), names });
      seen.add(keyOf(step));
      const inner = branchesOf(step).map((branch) => check(branch.steps, seen));
      for (const keys of inner) for (const key of keys) seen.add(key);
    }
    return seen;
  };
  check(steps, new Set());
  return broken;
}

/** Returns the steps that come before a step, and that it may therefore name. */
export function stepsBefore(steps: readonly Step[], key: StepKey): Step[] {
  const walk = (sequence: readonly Step[], before: readonly Step[]): Step[] | null => {
    const seen = [...before];
    for (const step of sequence) {
      if (keyOf(step) === key) return seen;
      seen.push(step);
      for (const branch of branchesOf(step)) {
        const found = walk(branch.steps, seen);
        if (found) return found;
      }
      seen.push(...branchesOf(step).flatMap((branch) => allSteps(branch.steps).map((each) => each.step)));
    }
    return null;
  };
  return walk(steps, []) ?? [];
}

/** Says which names a change would break; null if it breaks none that were fine before. */
export function refusalOf(before: readonly Step[], after: readonly Step[]): string | null {
  const known = new Set(brokenReferences(before).map(({ step, names }) => `${step} ${names}`));
  const broken = brokenReferences(after).filter(({ step, names }) => !known.has(`${step} ${names}`));
  if (broken.length === 0) return null;
  const found = new Map(allSteps(before).map(({ step }) => [keyOf(step), step]));
  const text = (key: StepKey) => {
    const step = found.get(key);
    return step ? nameOf(step) : `step ${key}`;
  };
  const remaining = new Set(allSteps(after).map(({ step }) => keyOf(step)));
  const sentences = broken.map(({ step, names }) =>
    remaining.has(names)
      ? `${text(step)} names ${text(names)}, which would no longer come before it.`
      : `${text(step)} names ${text(names)}.`,
  );
  return `${[...new Set(sentences)].join(' ')} Change that first.`;
}

function remapFilter(filter: Filter, keyFor: (key: StepKey) => StepKey | null): Filter | null {
  const { name, value } = filter;
  if (isGroup(filter)) {
    if (!Array.isArray(value)) return filter;
    const members = remapFilters(value as Filter[], keyFor);
    return members.length === 0 && value.length > 0 ? null : { ...filter, value: members };
  }
  const named = namedBy(filter);
  if (named === null) return filter;
  const key = keyFor(named);
  if (key === null) return null;
  if (key === named) return filter;
  return STEP_NAME.test(name)
    ? { ...filter, name: name.replace(STEP_NAME, `step.${key}.`) }
    : { ...filter, value: { ...(value as object), step: key } };
}

const remapFilters = (filters: readonly Filter[], keyFor: (key: StepKey) => StepKey | null): Filter[] =>
  filters.flatMap((filter) => remapFilter(filter, keyFor) ?? []);

/** Replaces the steps that a step names. @param keyFor null drops the filter or the field with the name */
export function remapNames(step: Step, keyFor: (key: StepKey) => StepKey | null): Step {
  const { include_since: since, ...rest } = step;
  const next: Step = step.filters ? { ...rest, filters: remapFilters(step.filters, keyFor) } : rest;
  if (since === undefined) return next;
  if (!isObject(since) || !isKey(since.step)) return { ...next, include_since: since };
  const key = keyFor(since.step);
  return key === null ? next : { ...next, include_since: { ...since, step: key } };
}
