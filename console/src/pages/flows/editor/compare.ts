/** Compares the steps of two versions of a flow. A step is the same step if it has the same id or `ref`. */
import { isSame } from '../../../editors/draft/same.ts';
import { commonItems } from '../../../ui/common-items.ts';
import { branchesOf as namedBranches, keyOf, type StepKey } from '../flow-layout.ts';
import { allSteps, type Step } from './model.ts';

export type Change = 'same' | 'changed' | 'moved' | 'added' | 'removed';

export interface FieldChange {
  field: string;
  /** Undefined if the step does not have it. */
  before: unknown;
  after: unknown;
}

/** A step of one or both versions. A step that was moved has two rows: where it was, and where it is. */
export interface StepRow {
  left: Step | null;
  right: Step | null;
  change: Change;
  /** The fields that differ. They are in the row with the new version. */
  fields: readonly FieldChange[];
  /** The steps of the flow itself are level 1. */
  level: number;
  /** The branch, such as `yes`, that begins with this row. */
  begins: readonly string[];
}

export interface Comparison {
  /** In reading order of both versions. */
  rows: readonly StepRow[];
  counts: Readonly<Record<Change, number>>;
}

/** The steps in the branches are compared separately, and the id of a template says nothing to people. */
const NOT_OWN: ReadonlySet<string> = new Set(['id', 'ref', 'yes', 'no', 'branches', 'template_id']);

function ownFields(step: Step): Map<string, unknown> {
  const own = Object.entries(step).filter(
    ([name, value]) => !NOT_OWN.has(name) && value !== null && value !== undefined,
  );
  const weights = step.branches?.map(({ weight }) => weight);
  return new Map(weights ? [...own, ['weights', weights]] : own);
}

function fieldChanges(left: Step, right: Step): FieldChange[] {
  const before = ownFields(left);
  const after = ownFields(right);
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((field) => !isSame(before.get(field), after.get(field)))
    .map((field) => ({ field, before: before.get(field), after: after.get(field) }));
}

/** The longest sequence of keys that both have in the same order. */
function commonKeys(left: readonly StepKey[], right: readonly StepKey[]): Set<StepKey> {
  const places = commonItems(left, right);
  return new Set(left.filter((_, n) => places[n] !== undefined));
}

const byKey = (steps: readonly Step[]) => new Map(allSteps(steps).map(({ step }) => [keyOf(step), step]));

/** Compares the steps of two versions. */
export function compareSteps(left: readonly Step[], right: readonly Step[]): Comparison {
  const before = byKey(left);
  const after = byKey(right);
  const rows: StepRow[] = [];

  const addLeft = (step: Step, level: number) => {
    const change = after.has(keyOf(step)) ? 'moved' : 'removed';
    rows.push({ left: step, right: null, change, fields: [], level, begins: [] });
    alignBranches(step, null, level);
  };
  const addRight = (step: Step, level: number) => {
    const old = before.get(keyOf(step));
    const fields = old ? fieldChanges(old, step) : [];
    rows.push({ left: null, right: step, change: old ? 'moved' : 'added', fields, level, begins: [] });
    alignBranches(null, step, level);
  };
  const addBoth = (old: Step, step: Step, level: number) => {
    const fields = fieldChanges(old, step);
    rows.push({
      ...{ left: old, right: step, change: fields.length > 0 ? 'changed' : 'same', fields },
      ...{ level, begins: [] },
    });
    alignBranches(old, step, level);
  };

  function alignBranches(old: Step | null, step: Step | null, level: number): void {
    const olds = old ? namedBranches(old) : [];
    const news = step ? namedBranches(step) : [];
    const keys = [...new Set([...olds, ...news].map(({ key }) => key))];
    for (const wanted of keys) {
      const one = olds.find(({ key }) => key === wanted);
      const other = news.find(({ key }) => key === wanted);
      const first = rows.length;
      align(one?.steps ?? [], other?.steps ?? [], level + 1);
      const row = rows[first];
      const label = other?.label ?? one?.label ?? '';
      if (row) rows[first] = { ...row, begins: [label, ...row.begins] };
    }
  }

  function align(olds: readonly Step[], news: readonly Step[], level: number): void {
    const common = commonKeys(olds.map(keyOf), news.map(keyOf));
    let next = 0;
    for (const old of olds) {
      if (!common.has(keyOf(old))) {
        addLeft(old, level);
        continue;
      }
      for (let step = news[next]; step && keyOf(step) !== keyOf(old); step = news[next]) {
        addRight(step, level);
        next += 1;
      }
      const step = news[next];
      if (step) addBoth(old, step, level);
      next += 1;
    }
    for (const step of news.slice(next)) addRight(step, level);
  }

  align(left, right, 1);
  return { rows, counts: countChanges(rows) };
}

function countChanges(rows: readonly StepRow[]): Record<Change, number> {
  const counts = { same: 0, changed: 0, moved: 0, added: 0, removed: 0 };
  for (const { change, right } of rows) if (change !== 'moved' || right) counts[change] += 1;
  return counts;
}
