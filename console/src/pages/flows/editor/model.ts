/**
 * What the editor of flows edits: the steps' JSON as the API has it. The graph and the outline are views of it, and
 * commands change it. A command never changes what it is given, and fields that this console does not know survive.
 */
import type { Schemas } from '../../../api/client.ts';
import { branchesOf, keyOf, type BranchKey, type StepKey } from '../flow-layout.ts';
import type { FlowStep } from '../step-text.ts';

export type FlowTrigger = Schemas['FlowTrigger'];
export type StepType = FlowStep['type'];

/** A step that is not yet published has a `ref`, unique in the flow, instead of an `id`. */
export interface Step extends Omit<FlowStep, 'id' | 'yes' | 'no' | 'branches' | 'include_since'> {
  id?: number;
  ref?: string;
  include_since?: 'entry' | { step: StepKey };
  yes?: readonly Step[] | null;
  no?: readonly Step[] | null;
  branches?: readonly SplitBranch[];
}

export interface SplitBranch {
  weight: number;
  steps: readonly Step[];
}

export interface FlowContent {
  name: string;
  goal: string | null;
  /** Missing in drafts from before the flow had it: it stays as it is. */
  unknown?: Schemas['Flow']['unknown'] | undefined;
  trigger: FlowTrigger;
  steps: readonly Step[];
}

/** A '+' mark: before `index` of a sequence. */
export interface InsertionPoint {
  /** The sequence; null is the flow itself. */
  branch: { step: StepKey; key: BranchKey } | null;
  index: number;
}

/** What a command returns. */
export type Result = Done | { refused: string };

export interface Done {
  steps: readonly Step[];
  /** The step to select. */
  select?: StepKey | null;
  /** What could not be kept. */
  notes?: readonly string[];
}

/** The limits of the API. */
export const MAX_STEPS = 200;
export const MAX_LEVELS = 10;

/** Returns the step with the steps of one of its branches replaced. */
function withBranch(step: Step, key: BranchKey, steps: readonly Step[]): Step {
  if (typeof key === 'string') return { ...step, [key]: steps };
  return {
    ...step,
    branches: step.branches?.map((branch, index) => (index === key ? { ...branch, steps } : branch)),
  };
}

/** A step, its position, and its depth: the steps of the flow itself are level 1. */
export interface Located {
  step: Step;
  place: InsertionPoint;
  level: number;
}

/** Returns all steps in reading order: each before those in its branches, and these before the step that follows. */
export function allSteps(
  steps: readonly Step[],
  branch: InsertionPoint['branch'] = null,
  level = 1,
): Located[] {
  return steps.flatMap((step, index) => [
    { step, place: { branch, index }, level },
    ...branchesOf(step).flatMap((inner) =>
      allSteps(inner.steps, { step: keyOf(step), key: inner.key }, level + 1),
    ),
  ]);
}

export const findStep = (steps: readonly Step[], key: StepKey): Located | undefined =>
  allSteps(steps).find(({ step }) => keyOf(step) === key);

/** Replaces one step, wherever it is. Everything that does not contain it stays the same object. */
export function mapStep(steps: readonly Step[], key: StepKey, change: (step: Step) => Step): readonly Step[] {
  let found = false;
  const next = steps.map((step) => {
    if (found) return step;
    if (keyOf(step) === key) {
      found = true;
      return change(step);
    }
    for (const branch of branchesOf(step)) {
      const inner = mapStep(branch.steps, key, change);
      if (inner === branch.steps) continue;
      found = true;
      return withBranch(step, branch.key, inner);
    }
    return step;
  });
  return found ? next : steps;
}

/** Replaces the steps of one sequence; the same steps if there is no such sequence. */
export function mapSequence(
  steps: readonly Step[],
  branch: InsertionPoint['branch'],
  change: (sequence: readonly Step[]) => readonly Step[],
): readonly Step[] {
  if (branch === null) return change(steps);
  return mapStep(steps, branch.step, (step) => {
    const found = branchesOf(step).find(({ key }) => key === branch.key);
    return found ? withBranch(step, branch.key, change(found.steps)) : step;
  });
}

/** Returns the steps of the sequence; undefined if there is none. */
export function sequenceAt(
  steps: readonly Step[],
  branch: InsertionPoint['branch'],
): readonly Step[] | undefined {
  if (branch === null) return steps;
  const owner = findStep(steps, branch.step);
  return owner && branchesOf(owner.step).find(({ key }) => key === branch.key)?.steps;
}

const PATH_PART = /^\[(\d+)\](?:\.(yes|no)|\.branches\[(\d+)\]\.steps)?/;

/**
 * Finds the step that a path of the API names, such as `steps[2].yes[0].duration`.
 * @returns the key of the step, and the rest of the path; null if the path names no step
 */
export function stepAtPath(steps: readonly Step[], path: string): { key: StepKey; field: string } | null {
  const read = (sequence: readonly Step[], rest: string): { key: StepKey; field: string } | null => {
    const [part, index, named, split] = PATH_PART.exec(rest) ?? [];
    const step = sequence[Number(index)];
    if (part === undefined || !step) return null;
    const key = named ?? (split === undefined ? undefined : Number(split));
    const branch = branchesOf(step).find((each) => each.key === key);
    const inner = branch ? read(branch.steps, rest.slice(part.length)) : null;
    const own = rest.slice(rest.indexOf(']') + 1).replace(/^\./, '');
    return inner ?? { key: keyOf(step), field: own };
  };
  return path.startsWith('steps[') ? read(steps, path.slice('steps'.length)) : null;
}
