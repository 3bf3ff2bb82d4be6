/** Random flows that the API would take, and what the API says about steps. */
import fc from 'fast-check';
import { branchesOf, type StepKey } from '../../../console/src/pages/flows/flow-layout.ts';
import type { Step } from '../../../console/src/pages/flows/editor/model.ts';
import { mapBranches } from '../../../console/src/pages/flows/editor/commands.ts';
import { readSteps } from '../../../src/features/flows/read-steps.ts';

/** What a later version of the API may add. This console must keep it. */
const UNKNOWN = 'x_unknown';

/** A step before its names are drawn, and the numbers that decide about them. */
interface Sketch {
  step: Step;
  isNew: boolean;
  picks: readonly number[];
  branches: readonly (readonly Sketch[])[];
}

const leaves: readonly Step[] = [
  { type: 'email', subject: 'Hi {{ contact.first_name }}', body: '<p>Hi</p>' },
  { type: 'sms', body: 'Hi' },
  { type: 'wait', duration: 3_600 },
  { type: 'wait', until: { time: '09:00', weekdays: [1, 2], timezone: 'contact' } },
  { type: 'wait', until: { field: 'data.due', offset_seconds: -60, if_past: 'exit' } },
  { type: 'event', event_name: 'seen', forward_event_data: true, data: { a: [1, { b: null }] } },
  { type: 'update_contact', data: { stage: 'active', coupon: null } },
  { type: 'add_to_list', list_id: 7 },
  { type: 'remove_from_list', list_id: 8 },
  { type: 'webhook', url: 'https://example.com/', method: 'POST', headers: { 'X-A': 'b' }, body: { a: 1 } },
  { type: 'exit', reason: 'converted' },
];

const sketches: fc.Arbitrary<Sketch[]> = fc.letrec<{ steps: Sketch[]; sketch: Sketch }>((tie) => {
  const common = {
    isNew: fc.boolean(),
    picks: fc.array(fc.nat(99), { minLength: 4, maxLength: 4 }),
  };
  const unknown = fc.option(fc.record({ [UNKNOWN]: fc.constantFrom<unknown>(null, 5, { a: ['b'] }) }), {
    freq: 4,
  });
  const of = (steps: readonly Step[], count: number) =>
    fc.record({
      ...common,
      step: fc.tuple(fc.constantFrom(...steps), unknown).map(([step, more]): Step => ({ ...step, ...more })),
      branches: fc.tuple(...Array.from({ length: count }, () => tie('steps'))),
    });
  const chooses: Step[] = [
    { type: 'condition' },
    { type: 'wait_for_event', event_name: 'bought', duration: 60, filters: [] },
  ];
  return {
    steps: fc.array(tie('sketch'), { maxLength: 5, depthIdentifier: 'flow' }),
    sketch: fc.oneof(
      { maxDepth: 4, depthIdentifier: 'flow' },
      { weight: 6, arbitrary: of(leaves, 0) },
      { weight: 3, arbitrary: of(chooses, 2) },
      { weight: 1, arbitrary: of([{ type: 'split' }], 3) },
    ),
  };
}).steps;

interface Named {
  key: StepKey;
  type: string;
}

/** Draws a filter. It names one of the steps before if there is one that leaves something to name. */
function filterOf(pick: number, before: readonly Named[]): NonNullable<Step['filters']>[number] {
  const nameable = before.filter(({ type }) => type === 'email' || type === 'webhook');
  const named = nameable[pick % (nameable.length + 1)];
  if (!named) return { name: 'data.plan', predicate: 'eq', value: 'pro' };
  return named.type === 'email'
    ? {
        name: 'email_opened',
        predicate: 'did',
        value: { step: named.key, within: { count: 2, unit: 'days' } },
      }
    : { name: `step.${named.key}.body.ok`, predicate: 'eq', value: true };
}

/** The step with the names of others that it may have at its place. */
function withNames(step: Step, picks: readonly number[], before: readonly Named[]): Step {
  const [one = 0, two = 0, three = 0, four = 0] = picks;
  const next = structuredClone(step);
  if (step.type === 'condition' || (step.type === 'wait_for_event' && one % 2 === 0)) {
    const group = [filterOf(three, before), filterOf(four, before)];
    next.filters = [filterOf(two, before)];
    if (one % 3 === 0) next.filters.push({ name: 'any', predicate: 'or', value: group });
  }
  if (step.type === 'wait_for_event' && one % 3 > 0) {
    const since = before[two % (before.length + 1)];
    next.include_since = since ? { step: since.key } : 'entry';
  }
  return next;
}

function withBranches(step: Step, branches: readonly Step[][]): Step {
  const [yes = [], no = []] = branches;
  if (step.type !== 'split') return branches.length > 0 ? { ...step, yes, no } : step;
  return {
    ...step,
    branches: branches.map((steps, index) => ({ weight: index === 0 ? 34 : 33, steps })),
  };
}

/** Gives steps their keys and the names of steps before them, as the API allows. */
function drawn(given: readonly Sketch[]): Step[] {
  let count = 0;
  const draw = (sequence: readonly Sketch[], before: readonly Named[]): { steps: Step[]; seen: Named[] } => {
    const seen = [...before];
    const steps = sequence.map(({ step, isNew, picks, branches }): Step => {
      count += 1;
      // Ids in no order, as after moves.
      const key = isNew ? `${step.type}_${count}` : ((count * 37) % 1_009) + 1;
      const named = withNames(step, picks, seen);
      seen.push({ key, type: step.type });
      const inner = branches.map((branch) => draw(branch, seen));
      const known = seen.length;
      seen.push(...inner.flatMap((each) => each.seen.slice(known)));
      const next = typeof key === 'string' ? { ...named, ref: key } : { ...named, id: key };
      return withBranches(
        next,
        inner.map((each) => each.steps),
      );
    });
    return { steps, seen };
  };
  return draw(given, []).steps;
}

/** Flows of up to some dozens of steps, saved ones and new ones mixed. */
export const randomSteps: fc.Arbitrary<Step[]> = fc
  .array(sketches, { minLength: 1, maxLength: 3 })
  .map((parts) => drawn(parts.flat()));

/** What a user must still say before the API takes a step, and what it does not know. */
function filledIn(step: Step): Step {
  const { [UNKNOWN]: _, ...filled } = { ...step } as Step & { [UNKNOWN]?: unknown };
  if (filled.type === 'condition' && (filled.filters ?? []).length === 0) filled.filters = [filterOf(0, [])];
  if (filled.type === 'event' || filled.type === 'wait_for_event') filled.event_name ??= 'named';
  if (filled.type === 'webhook') filled.url ??= 'https://example.com/';
  if (filled.type === 'update_contact') filled.data ??= { a: 1 };
  if (filled.type === 'add_to_list' || filled.type === 'remove_from_list') filled.list_id ??= 1;
  return mapBranches(filled, (steps) => steps.map(filledIn));
}

/** Returns what the API would refuse of steps, apart from what the user must still fill in. */
export const refusedByApi = (steps: readonly Step[]): Record<string, string[]> =>
  readSteps(structuredClone(steps.map(filledIn))).errors;

interface Sequence {
  steps: readonly Step[];
  /** The step in whose branch it is; null is the flow itself. */
  owner: Step | null;
  index: number;
}

/** Returns every sequence of a flow: the steps themselves, and each branch. */
export function sequencesOf(steps: readonly Step[]): Sequence[] {
  const inside = (step: Step): Sequence[] =>
    branchesOf(step).flatMap((branch, index) => [
      { steps: branch.steps, owner: step, index },
      ...branch.steps.flatMap(inside),
    ]);
  return [{ steps, owner: null, index: 0 }, ...steps.flatMap(inside)];
}
