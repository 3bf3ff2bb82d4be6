/**
 * What the draft of a flow knows of its content: which merges of two people's changes are a flow, and what to call a
 * step.
 */
import { nameOfField } from '../../../editors/draft/field-names.ts';
import type { DraftForm } from '../../../editors/draft/draft.ts';
import type { Path, Three } from '../../../editors/draft/merging.ts';
import { isSame } from '../../../editors/draft/same.ts';
import { keyOf, type StepKey } from '../flow-layout.ts';
import { freeRef, mapBranches, namesInUse } from './commands.ts';
import { allSteps, MAX_LEVELS, MAX_STEPS, type FlowContent, type Located, type Step } from './model.ts';
import { readDraft } from './read-draft.ts';
import { brokenReferences, remapNames } from './references.ts';
import { nameOf } from './texts.ts';

const keysOf = (steps: readonly Step[]) => allSteps(steps).map(({ step }) => String(keyOf(step)));

/** The steps of a version that the base does not have. */
function addedSteps(base: readonly Step[], steps: readonly Step[]): Step[] {
  const known = new Set(keysOf(base));
  return allSteps(steps).flatMap(({ step }) => (known.has(String(keyOf(step))) ? [] : step));
}

/** Gives steps other refs, also where steps name them. */
function renamed(steps: readonly Step[], refs: ReadonlyMap<StepKey, string>): readonly Step[] {
  return steps.map((step) => {
    const named = remapNames(step, (key) => refs.get(key) ?? key);
    const ref = step.ref === undefined ? undefined : refs.get(step.ref);
    return mapBranches(ref === undefined ? named : { ...named, ref }, (inner) => renamed(inner, refs));
  });
}

/**
 * Two people may have chosen the same `ref` for different new steps: mine get others. A step gets an id when it is
 * published, so theirs may have one of my new steps under its id. If the types are the same, only a person can decide.
 */
function prepare(of: Three<FlowContent>): Three<FlowContent> | null {
  const { base, mine, theirs } = of;
  const [own, others] = [addedSteps(base.steps, mine.steps), addedSteps(base.steps, theirs.steps)];
  const mayBeSame = (one: Step, other: Step) =>
    one.type === other.type && (one.id === undefined) !== (other.id === undefined);
  if (own.some((one) => others.some((other) => mayBeSame(one, other)))) return null;
  const used = namesInUse([...base.steps, ...mine.steps, ...theirs.steps]);
  const taken = new Map(
    others.flatMap((step) => (step.ref === undefined ? [] : [[step.ref, step] as const])),
  );
  const refs = own.flatMap((step): [string, string][] => {
    const other = step.ref === undefined ? undefined : taken.get(step.ref);
    return other?.ref === undefined || isSame(step, other) ? [] : [[other.ref, freeRef(step.type, used)]];
  });
  if (refs.length === 0) return of;
  return { ...of, mine: { ...mine, steps: renamed(mine.steps, new Map(refs)) } };
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null;

const FULL = 100;

/** What the API would refuse because the fields of a step, or the steps around it, do not fit together. */
function problemsOfStep({ step, level }: Located): string[] {
  const key = keyOf(step);
  const weights = step.branches?.reduce((sum, { weight }) => sum + weight, 0);
  return [
    ...(step.type === 'wait' && isSet(step.duration) && isSet(step.until)
      ? [`${key} waits in two ways`]
      : []),
    ...(weights !== undefined && weights !== FULL ? [`${key} has other weights`] : []),
    ...(level > MAX_LEVELS ? ['too deep'] : []),
  ];
}

function problemsOf({ steps, trigger }: FlowContent): string[] {
  const all = allSteps(steps);
  const keys = keysOf(steps);
  const ways = [trigger.event, trigger.contact_list_id, trigger.segment_id].filter(isSet);
  return [
    ...all.flatMap(problemsOfStep),
    ...keys.filter((key, index) => keys.indexOf(key) !== index).map((key) => `${key} is there twice`),
    ...brokenReferences(steps).map(({ step, names }) => `${step} names ${names}`),
    ...(ways.length > 1 ? ['several triggers'] : []),
    ...(all.length > MAX_STEPS ? ['too many'] : []),
  ];
}

/** Whether the merged flow is as valid as both: what either had wrong is shown in the editor, as before. */
function isSound(merged: FlowContent, { mine, theirs }: Three<FlowContent>): boolean {
  const known = new Set([...problemsOf(mine), ...problemsOf(theirs)]);
  return problemsOf(merged).every((problem) => known.has(problem));
}

function stepIn(path: Path, versions: readonly FlowContent[]): { step: Step; rest: Path } | null {
  const at = path.findLastIndex((part) => typeof part === 'object' && 'key' in part);
  const part = path[at];
  if (typeof part !== 'object' || !('key' in part)) return null;
  const found = versions
    .flatMap(({ steps }) => allSteps(steps))
    .find(({ step }) => String(keyOf(step)) === part.key);
  return found ? { step: found.step, rest: path.slice(at + 1) } : null;
}

const SEQUENCES: readonly unknown[] = ['yes', 'no', 'branches'];
const hasContent = ({ type }: Step) => type === 'email' || type === 'sms';

/** Names a place in a step, such as `Subject of Email 5`. */
function nameOfPlace(path: Path, versions: readonly FlowContent[]): string | null {
  const found = stepIn(path, versions);
  if (!found) return null;
  const { step, rest } = found;
  if (rest.length === 0 || !hasContent(step)) {
    return SEQUENCES.includes(rest[0]) ? `Branches of ${nameOf(step)}` : nameOf(step);
  }
  return `${nameOfField(rest)} of ${nameOf(step)}`;
}

export const flowForm: DraftForm<FlowContent> = { read: readDraft, prepare, isSound, nameOf: nameOfPlace };
