/** Steps that are copied, to be pasted in the same flow or another flow of the brand. */
import { isObject, parseJson } from '../../../ui/json-text.ts';
import { checked, freeRef, mapBranches, namesInUse, putSteps } from './commands.ts';
import { branchesOf, keyOf, type StepKey } from '../flow-layout.ts';
import { allSteps, type InsertionPoint, type Result, type Step } from './model.ts';
import { brokenReferences, namedIn, remapNames } from './references.ts';
import { nameOf } from './texts.ts';

const FORMAT = 'carillon-flow-steps';

/** Steps as JSON text. */
export type Clip = string;

interface ReadClip {
  /** Ids mean nothing in another flow. */
  flow: number;
  steps: readonly Step[];
}

function chosen(steps: readonly Step[], keys: ReadonlySet<StepKey>): Step[] {
  return steps.flatMap((step) =>
    keys.has(keyOf(step)) ? [step] : branchesOf(step).flatMap((branch) => chosen(branch.steps, keys)),
  );
}

/** Copies steps with what is in their branches, in reading order. @param flow the id of their flow */
export const copySteps = (steps: readonly Step[], keys: readonly StepKey[], flow: number): Clip =>
  JSON.stringify({ format: FORMAT, flow, steps: chosen(steps, new Set(keys)) });

export function readClip(clip: Clip): ReadClip | null {
  const parsed = parseJson(clip);
  const value = 'value' in parsed ? parsed.value : null;
  if (!isObject(value) || value.format !== FORMAT || typeof value.flow !== 'number') return null;
  if (!Array.isArray(value.steps) || !value.steps.every(isObject)) return null;
  return { flow: value.flow, steps: value.steps as unknown as Step[] };
}

/**
 * Puts copies at a place: each gets a new `ref`, and names of copied steps become those of the copies. A name of a step
 * that was not copied stays if that step comes before in the same flow; otherwise it is dropped and reported.
 */
export function pasteSteps(steps: readonly Step[], place: InsertionPoint, clip: Clip, flow: number): Result {
  const read = readClip(clip);
  if (!read || read.steps.length === 0) return { refused: 'There are no copied steps to paste.' };
  const used = namesInUse(steps);
  const refs = new Map(allSteps(read.steps).map(({ step }) => [keyOf(step), freeRef(step.type, used)]));
  const copyOf = (step: Step, keyFor: (key: StepKey) => StepKey | null): Step => {
    const { id: _, ...fields } = step;
    const named = remapNames({ ...fields, ref: refs.get(keyOf(step)) }, keyFor);
    return mapBranches(named, (inner) => inner.map((each) => copyOf(each, keyFor)));
  };
  const put = (keyFor: (key: StepKey) => StepKey | null) =>
    putSteps(
      steps,
      place,
      read.steps.map((step) => copyOf(step, keyFor)),
    );
  // First with all names, to see which of them lead to no step before the copies.
  const trial = put((key) => refs.get(key) ?? key);
  if (!trial) return { refused: 'This place is no longer in the flow.' };
  const copies = new Set<StepKey>(refs.values());
  const lost = brokenReferences(trial).filter(({ step }) => copies.has(step));
  const outside = (key: StepKey) =>
    read.flow === flow && !lost.some(({ names }) => names === key) ? key : null;
  const next = put((key) => refs.get(key) ?? outside(key));
  if (!next) return { refused: 'This place is no longer in the flow.' };
  const first = read.steps[0];
  const select = first ? refs.get(keyOf(first)) : undefined;
  return (
    checked(steps, next) ?? {
      steps: next,
      select,
      notes: notesOf(read, (key) => refs.has(key) || outside(key) !== null),
    }
  );
}

/** Says which names the copies have lost. */
function notesOf({ steps }: ReadClip, isKept: (key: StepKey) => boolean): string[] {
  return allSteps(steps).flatMap(({ step }) => {
    const lost = [...new Set(namedIn(step))].filter((key) => !isKept(key));
    if (lost.length === 0) return [];
    return `The copy of ${nameOf(step)} no longer names step ${lost.join(', ')}, which does not come before it.`;
  });
}
