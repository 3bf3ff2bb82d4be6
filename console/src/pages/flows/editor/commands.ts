/** Changes of the steps. Each returns the new steps, or says why it cannot be done; none leaves a broken flow. */
import { branchesOf, keyOf, type StepKey } from '../flow-layout.ts';
import {
  allSteps,
  findStep,
  mapSequence,
  mapStep,
  MAX_LEVELS,
  MAX_STEPS,
  sequenceAt,
  type InsertionPoint,
  type Result,
  type Step,
  type StepType,
} from './model.ts';
import { newStep } from './new-step.ts';
import { namedIn, refusalOf, remapNames } from './references.ts';

const GONE = 'This place is no longer in the flow.';
const NO_STEP = 'This step is no longer in the flow.';

/** Every name in use, and those that steps use for others: a new step must not take one. */
export function namesInUse(steps: readonly Step[]): Set<StepKey> {
  const all = allSteps(steps).map(({ step }) => step);
  return new Set(
    all.flatMap((step) => [keyOf(step), ...(step.ref === undefined ? [] : [step.ref]), ...namedIn(step)]),
  );
}

/** Returns a `ref` that is free, such as `email_2`, and marks it as used. */
export function freeRef(type: string, used: Set<StepKey>): string {
  let count = 1;
  while (used.has(`${type}_${count}`)) count += 1;
  const ref = `${type}_${count}`;
  used.add(ref);
  return ref;
}

/** Gives a `ref` to each step that has neither an id nor a `ref`, such as one that a client has put into the draft. */
export function withRefs(steps: readonly Step[]): readonly Step[] {
  const nameless = allSteps(steps).some(({ step }) => keyOf(step) === '');
  if (!nameless) return steps;
  const used = namesInUse(steps);
  const name = (sequence: readonly Step[]): readonly Step[] =>
    sequence.map((step) => {
      const named = keyOf(step) === '' ? { ...step, ref: freeRef(step.type, used) } : step;
      return mapBranches(named, name);
    });
  return name(steps);
}

/** Replaces the steps of every branch. */
export function mapBranches(step: Step, change: (steps: readonly Step[]) => readonly Step[]): Step {
  const next = { ...step };
  if (step.yes) next.yes = change(step.yes);
  if (step.no) next.no = change(step.no);
  if (step.branches)
    next.branches = step.branches.map((branch) => ({ ...branch, steps: change(branch.steps) }));
  return next;
}

/** Refuses steps that the API would refuse as a whole, and changes that break the names of steps. */
export function checked(before: readonly Step[], after: readonly Step[]): { refused: string } | null {
  const all = allSteps(after);
  const growing = all.length > allSteps(before).length;
  if (growing && all.length > MAX_STEPS) return { refused: `A flow has at most ${MAX_STEPS} steps.` };
  if (all.some(({ level }) => level > MAX_LEVELS)) {
    return { refused: `Branches are at most ${MAX_LEVELS} levels deep.` };
  }
  const refused = refusalOf(before, after);
  return refused === null ? null : { refused };
}

/** Puts steps at a place. @returns null if there is no such place */
export function putSteps(
  steps: readonly Step[],
  place: InsertionPoint,
  added: readonly Step[],
): readonly Step[] | null {
  const sequence = sequenceAt(steps, place.branch);
  if (!sequence || place.index < 0 || place.index > sequence.length) return null;
  return mapSequence(steps, place.branch, (each) => each.toSpliced(place.index, 0, ...added));
}

/** Puts a new step at a place. */
export function insertStep(steps: readonly Step[], place: InsertionPoint, type: StepType): Result {
  const step = newStep(type, freeRef(type, namesInUse(steps)));
  const next = putSteps(steps, place, [step]);
  if (!next) return { refused: GONE };
  return checked(steps, next) ?? { steps: next, select: keyOf(step) };
}

/** Takes a step out, with the steps in its branches, unless other steps name one of them. */
export function removeStep(steps: readonly Step[], key: StepKey): Result {
  const found = findStep(steps, key);
  if (!found) return { refused: NO_STEP };
  const { branch, index } = found.place;
  const next = mapSequence(steps, branch, (each) => each.toSpliced(index, 1));
  const neighbour = sequenceAt(next, branch)?.[index] ?? sequenceAt(next, branch)?.[index - 1];
  const select = neighbour ? keyOf(neighbour) : (branch?.step ?? null);
  return checked(steps, next) ?? { steps: next, select };
}

/** Moves a step with its branches. @param place as the steps are before the move */
export function moveStep(steps: readonly Step[], key: StepKey, place: InsertionPoint): Result {
  const found = findStep(steps, key);
  if (!found) return { refused: NO_STEP };
  const { step, place: from } = found;
  if (place.branch && findStep([step], place.branch.step)) {
    return { refused: 'A step cannot move into its own branches.' };
  }
  const isSame = isSameSequence(from, place);
  const index = isSame && place.index > from.index ? place.index - 1 : place.index;
  if (isSame && index === from.index) return { steps, select: key };
  const without = mapSequence(steps, from.branch, (each) => each.toSpliced(from.index, 1));
  const next = putSteps(without, { branch: place.branch, index }, [step]);
  if (!next) return { refused: GONE };
  return checked(steps, next) ?? { steps: next, select: key };
}

/** Returns all places in reading order. */
export const allInsertionPoints = (
  steps: readonly Step[],
  branch: InsertionPoint['branch'] = null,
): InsertionPoint[] => [
  ...steps.flatMap((step, index) => [
    { branch, index },
    ...branchesOf(step).flatMap((inner) =>
      allInsertionPoints(inner.steps, { step: keyOf(step), key: inner.key }),
    ),
  ]),
  { branch, index: steps.length },
];

/** Moves a step to the place before or after it in reading order, into branches and out of them. */
export function nudgeStep(steps: readonly Step[], key: StepKey, direction: 'up' | 'down'): Result {
  const from = findStep(steps, key)?.place;
  if (!from) return { refused: NO_STEP };
  const places = allInsertionPoints(steps);
  const at = (index: number) =>
    places.findIndex((place) => isSameSequence(place, from) && place.index === index);
  const place = direction === 'up' ? places[at(from.index) - 1] : places[at(from.index + 1) + 1];
  return place ? moveStep(steps, key, place) : { steps, select: key };
}

const isSameSequence = ({ branch: one }: InsertionPoint, { branch: other }: InsertionPoint): boolean =>
  one?.step === other?.step && one?.key === other?.key;

/**
 * Makes a step a new one, for a step that the published flow no longer has: it gets a `ref` for its id, also where others
 * name it. Its content stays; its template went with it.
 */
export function renewStep(steps: readonly Step[], key: StepKey): Result {
  const found = findStep(steps, key);
  if (!found) return { refused: NO_STEP };
  const ref = freeRef(found.step.type, namesInUse(steps));
  const renew = (sequence: readonly Step[]): readonly Step[] =>
    sequence.map((step) => {
      const named = remapNames(step, (each) => (each === key ? ref : each));
      const { id: _id, template_id: _template, ...fields } = named;
      return mapBranches(keyOf(step) === key ? { ...fields, ref } : named, renew);
    });
  const next = renew(steps);
  return checked(steps, next) ?? { steps: next, select: ref };
}

/** Changes fields of a step; a field that is undefined is removed. The user corrects its own names. */
export function changeStep(steps: readonly Step[], key: StepKey, patch: Partial<Step>): Result {
  const found = findStep(steps, key);
  if (!found) return { refused: NO_STEP };
  const changed = Object.fromEntries(
    Object.entries({ ...found.step, ...patch }).filter(([, value]) => value !== undefined),
  ) as unknown as Step;
  const next = mapStep(steps, key, () => changed);
  // Compared with its own new names in place, so that only what others lose counts.
  const withOwnNames = mapStep(steps, key, (step) => ({
    ...step,
    filters: changed.filters,
    include_since: changed.include_since,
  }));
  return checked(withOwnNames, next) ?? { steps: next };
}
