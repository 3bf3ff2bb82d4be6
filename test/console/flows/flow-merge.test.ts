// Two people change one flow: what is merged is a flow that the API takes, new steps of both stay apart, and places have names.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { reconcile } from '../../../console/src/editors/draft/reconcile.ts';
import { insertStep, moveStep, removeStep } from '../../../console/src/pages/flows/editor/commands.ts';
import { flowForm } from '../../../console/src/pages/flows/editor/flow-form.ts';
import { branchesOf, keyOf } from '../../../console/src/pages/flows/flow-layout.ts';
import {
  allSteps,
  mapStep,
  type FlowContent,
  type InsertionPoint,
  type Result,
  type Step,
} from '../../../console/src/pages/flows/editor/model.ts';
import { randomSteps, refusedByApi, sequencesOf } from './random-flows.ts';

const trigger = { event: 'joined', contact_list_id: null, segment_id: null, data: {} };
const flowOf = (steps: readonly Step[], more: Partial<FlowContent> = {}): FlowContent => ({
  name: 'Flow',
  goal: null,
  trigger,
  steps,
  ...more,
});
const merged = (base: FlowContent, mine: FlowContent, theirs: FlowContent) =>
  reconcile(flowForm, { base, mine, theirs }, new Map());
const wait = (id: number, more: Partial<Step> = {}): Step => ({ type: 'wait', id, duration: 60, ...more });
const keysOf = (steps: readonly Step[]) => allSteps(steps).map(({ step }) => keyOf(step));

interface Edit {
  what: 'insert' | 'move' | 'remove' | 'change';
  step: number;
  place: number;
}
const edits = fc.array(
  fc.record({
    what: fc.constantFrom<Edit['what']>('insert', 'move', 'remove', 'change'),
    step: fc.nat(99),
    place: fc.nat(99),
  }),
  { minLength: 1, maxLength: 3 },
);

function placeOf(steps: readonly Step[], n: number): InsertionPoint {
  const places = sequencesOf(steps).flatMap(({ steps: sequence, owner, index }): InsertionPoint[] => {
    const key = owner && branchesOf(owner)[index]?.key;
    const branch = owner && key !== null && key !== undefined ? { step: keyOf(owner), key } : null;
    return Array.from({ length: sequence.length + 1 }, (_, at) => ({ branch, index: at }));
  });
  return places[n % places.length] ?? { branch: null, index: 0 };
}

/** Changes steps as their editor does; what it refuses changes nothing. */
function edited(steps: readonly Step[], { what, step, place }: Edit, by: string): readonly Step[] {
  const key = keysOf(steps)[step % Math.max(1, keysOf(steps).length)] ?? '';
  const run = (): Result => {
    if (what === 'insert') return insertStep(steps, placeOf(steps, place), 'wait');
    if (what === 'move') return moveStep(steps, key, placeOf(steps, place));
    if (what === 'remove') return removeStep(steps, key);
    return { steps: mapStep(steps, key, (before) => ({ ...before, [`x_${by}`]: place })) };
  };
  const result = run();
  return 'refused' in result ? steps : result.steps;
}

/** Fields that only this test has. */
const withoutMarks = (steps: readonly Step[]): Step[] =>
  JSON.parse(JSON.stringify(steps), (name, value: unknown) =>
    name.startsWith('x_') ? undefined : value,
  ) as Step[];

describe('two people who change one flow', () => {
  it('get a flow that the API takes, or have to choose', () => {
    let count = 0;
    fc.assert(
      fc.property(randomSteps, edits, edits, (steps, own, others) => {
        const mine = own.reduce((now, edit) => edited(now, edit, 'mine'), steps as readonly Step[]);
        const theirs = others.reduce((now, edit) => edited(now, edit, 'theirs'), steps as readonly Step[]);
        const result = merged(flowOf(steps), flowOf(mine), flowOf(theirs));
        if (!result || result.collisions.length > 0) return;
        count += 1;
        expect(refusedByApi(withoutMarks(result.value.steps))).toEqual({});
      }),
      { numRuns: 400 },
    );
    expect(count).toBeGreaterThan(40);
  });

  it('keep the new steps of both, also if they were named alike', () => {
    const email: Step = { type: 'email', ref: 'email_1', subject: 'Mine' };
    const condition: Step = {
      type: 'condition',
      ref: 'condition_1',
      filters: [{ name: 'email_opened', predicate: 'did', value: { step: 'email_1' } }],
      yes: [],
      no: [],
    };
    const result = merged(
      flowOf([wait(1)]),
      flowOf([wait(1), email, condition]),
      flowOf([{ ...email, subject: 'Theirs' }, wait(1)]),
    );
    expect(result?.collisions).toEqual([]);
    expect(result?.value.steps).toEqual([
      { ...email, subject: 'Theirs' },
      wait(1),
      { ...email, ref: 'email_2' },
      {
        ...condition,
        filters: [{ name: 'email_opened', predicate: 'did', value: { step: 'email_2' } }],
      },
    ]);
  });

  it.each<[string, FlowContent, FlowContent]>([
    [
      'a step that one names and the other removes',
      flowOf([
        { type: 'email', id: 5, subject: 'Hi' },
        wait(1),
        {
          type: 'condition',
          id: 2,
          filters: [{ name: 'email_opened', predicate: 'did', value: { step: 5 } }],
        },
      ]),
      flowOf([wait(1)]),
    ],
    [
      'two triggers',
      flowOf([{ type: 'email', id: 5, subject: 'Hi' }, wait(1)], {
        trigger: { ...trigger, event: null, segment_id: 4 },
      }),
      flowOf([{ type: 'email', id: 5, subject: 'Hi' }, wait(1)], {
        trigger: { ...trigger, event: null, contact_list_id: 4 },
      }),
    ],
    [
      'a new step that may be the one that was published',
      flowOf([{ type: 'email', id: 5, subject: 'Hi' }, wait(1), { type: 'sms', ref: 'sms_1', body: 'Hi' }]),
      flowOf([{ type: 'email', id: 5, subject: 'Hi' }, wait(1), { type: 'sms', id: 9, body: 'Hi' }]),
    ],
  ])('choose a whole version rather than get %s', (_, mine, theirs) => {
    const base = flowOf([{ type: 'email', id: 5, subject: 'Hi' }, wait(1)]);
    expect(merged(base, mine, theirs)).toBeNull();
  });
});

it('refuses choices that do not go together', () => {
  const base = flowOf([wait(1)]);
  const until: Step = { type: 'wait', id: 1, until: { time: '09:00' } };
  const of = { base, mine: flowOf([until]), theirs: flowOf([wait(1, { duration: 90 })]) };
  const [collision] = reconcile(flowForm, of, new Map())?.collisions ?? [];
  expect(collision).toMatchObject({ mine: undefined, theirs: 90 });
  expect(reconcile(flowForm, of, new Map([[collision?.name ?? '', 'theirs']]))).toBeNull();
});

it('names places by their steps', () => {
  const email: Step = { type: 'email', id: 5, subject: 'Hi' };
  const split: Step = { type: 'condition', id: 6, filters: [], yes: [wait(1)], no: [] };
  const base = flowOf([email, split]);
  const changed = (subject: string, duration: number) =>
    flowOf([
      { ...email, subject },
      { ...split, yes: [wait(1, { duration })] },
    ]);
  const { collisions = [] } = merged(base, changed('A', 1), changed('B', 2)) ?? {};
  expect(collisions.map(({ path }) => flowForm.nameOf?.(path, [base]))).toEqual([
    'Subject of Email 5',
    'Wait 1',
  ]);
});
