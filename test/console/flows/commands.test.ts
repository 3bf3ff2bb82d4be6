// Random flows survive the editor as they are, and every command leaves a flow that the API takes, or refuses with reason.
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { copySteps, pasteSteps } from '../../../console/src/pages/flows/editor/clip.ts';
import {
  changeStep,
  insertStep,
  moveStep,
  removeStep,
  withRefs,
} from '../../../console/src/pages/flows/editor/commands.ts';
import { contentOf, changesOf } from '../../../console/src/pages/flows/editor/content.ts';
import { branchesOf, keyOf, type StepKey } from '../../../console/src/pages/flows/flow-layout.ts';
import {
  allSteps,
  findStep,
  stepAtPath,
  type Done,
  type InsertionPoint,
  type Result,
  type Step,
  type StepType,
} from '../../../console/src/pages/flows/editor/model.ts';
import { namedIn, stepsBefore } from '../../../console/src/pages/flows/editor/references.ts';
import { randomSteps, refusedByApi, sequencesOf } from './random-flows.ts';

const RUNS = 400;
const ROUND_TRIPS = 10_000;
const SEED = Number(process.env.FLOWS_SEED ?? Date.now() % 2 ** 31);
const options = { numRuns: RUNS, seed: SEED };

const pick = fc.nat(9_999);
const types: readonly StepType[] = [
  'email',
  'wait',
  'condition',
  'wait_for_event',
  'split',
  'add_to_list',
  'webhook',
  'event',
  'exit',
];

const stepsOf = (steps: readonly Step[]) => allSteps(steps).map(({ step }) => step);
const keysOf = (steps: readonly Step[]) => stepsOf(steps).map(keyOf);
const nthOf = <Item>(items: readonly Item[], n: number): Item | undefined => items[n % items.length];

function placeOf(steps: readonly Step[], n: number): InsertionPoint {
  const places = sequencesOf(steps).flatMap(({ steps: sequence, owner, index }): InsertionPoint[] => {
    const key = owner && branchesOf(owner)[index]?.key;
    const branch = owner && key !== null && key !== undefined ? { step: keyOf(owner), key } : null;
    return Array.from({ length: sequence.length + 1 }, (_, at) => ({ branch, index: at }));
  });
  return nthOf(places, n) ?? { branch: null, index: 0 };
}

const done = (result: Result): Done => {
  if ('refused' in result) throw new Error(result.refused);
  return result;
};

/** A mutable copy, its sequences, and the sequence and index of a step: an independent way to change steps. */
function copyOf(steps: readonly Step[]) {
  const copy = structuredClone(steps) as Step[];
  const sequences = sequencesOf(copy).map(({ steps: sequence, owner, index }) => ({
    sequence: sequence as Step[],
    at: owner ? `${keyOf(owner)} ${branchesOf(owner)[index]?.key}` : '',
  }));
  const sequenceAt = ({ branch }: InsertionPoint) =>
    sequences.find(({ at }) => at === (branch ? `${branch.step} ${branch.key}` : ''))?.sequence;
  const home = (key: StepKey) => {
    for (const { sequence } of sequences) {
      const index = sequence.findIndex((step) => keyOf(step) === key);
      if (index !== -1) return { sequence, index };
    }
    throw new Error(`no step ${key}`);
  };
  return { copy, sequenceAt, home };
}

const isFine = (steps: readonly Step[]) => Object.keys(refusedByApi(steps)).length === 0;

describe('a flow in the editor', () => {
  it('comes out as it went in, with ids and fields that the console does not know', () => {
    fc.assert(
      fc.property(randomSteps, (steps) => {
        const flow = {
          name: 'A',
          goal: null,
          unknown: 'resend',
          trigger: { event: 'x', data: { y: 1 } },
          steps,
        };
        const content = contentOf(structuredClone(flow) as never);
        const stored = JSON.parse(JSON.stringify(content)) as typeof content;
        // Quicker than the matcher, which the shrunk example then explains.
        if (!isDeepStrictEqual(changesOf(stored), flow)) expect(changesOf(stored)).toStrictEqual(flow);
      }),
      { ...options, numRuns: ROUND_TRIPS },
    );
  });

  it('is one that the API takes', () => {
    fc.assert(
      fc.property(randomSteps, (steps) => expect(refusedByApi(steps)).toEqual({})),
      options,
    );
  });

  it('gets names for steps that have none', () => {
    const steps: Step[] = [
      { type: 'email', ref: 'wait_1' },
      { type: 'wait', duration: 1 },
    ];
    expect(withRefs(steps).map(keyOf)).toEqual(['wait_1', 'wait_2']);
  });

  it('finds the step and the field of a path of the API', () => {
    fc.assert(
      fc.property(randomSteps, (steps) => {
        const walk = (sequence: readonly Step[], path: string): void => {
          for (const [index, step] of sequence.entries()) {
            const own = `${path}[${index}]`;
            expect(stepAtPath(steps, `${own}.filters[0].value`)).toEqual({
              key: keyOf(step),
              field: 'filters[0].value',
            });
            for (const { key, steps: inner } of branchesOf(step)) {
              walk(inner, typeof key === 'number' ? `${own}.branches[${key}].steps` : `${own}.${key}`);
            }
          }
        };
        walk(steps, 'steps');
      }),
      { ...options, numRuns: 300 },
    );
    expect(stepAtPath([{ type: 'split', id: 4, branches: [] }], 'steps[0].branches')).toEqual({
      key: 4,
      field: 'branches',
    });
    expect(stepAtPath([], 'trigger')).toBeNull();
  });
});

describe('inserting a step', () => {
  it('leaves a flow that the API takes, and removing it again leaves the flow as it was', () => {
    fc.assert(
      fc.property(randomSteps, pick, fc.constantFrom(...types), (steps, n, type) => {
        const { steps: next, select = null } = done(insertStep(steps, placeOf(steps, n), type));
        expect(refusedByApi(next)).toEqual({});
        expect(keysOf(next).filter((key) => key !== select)).toEqual(keysOf(steps));
        expect(done(removeStep(next, select ?? '')).steps).toEqual(steps);
      }),
      options,
    );
  });

  it('refuses the step after the two hundredth, and the eleventh level', () => {
    const many = Array.from({ length: 200 }, (_, index): Step => ({
      type: 'wait',
      id: index + 1,
      duration: 1,
    }));
    expect(insertStep(many, { branch: null, index: 0 }, 'exit')).toEqual({
      refused: 'A flow has at most 200 steps.',
    });
    let deep: readonly Step[] = [];
    let place: InsertionPoint = { branch: null, index: 0 };
    for (let level = 1; level <= 10; level += 1) {
      const next = done(insertStep(deep, place, 'condition'));
      deep = next.steps;
      place = { branch: { step: next.select ?? '', key: 'no' }, index: 0 };
    }
    expect(insertStep(deep, place, 'exit')).toEqual({ refused: 'Branches are at most 10 levels deep.' });
  });
});

describe('moving a step', () => {
  it('keeps every step and its id, and is refused exactly if the API would refuse the result', () => {
    fc.assert(
      fc.property(randomSteps, pick, pick, (steps, n, to) => {
        const key = nthOf(keysOf(steps), n);
        fc.pre(key !== undefined);
        const place = placeOf(steps, to);
        const { copy, home, sequenceAt } = copyOf(steps);
        const from = home(key);
        const target = sequenceAt(place);
        const [step] = from.sequence.splice(from.index, 1);
        const isInside =
          step !== undefined && place.branch !== null && findStep([step], place.branch.step) !== undefined;
        const index = target === from.sequence && place.index > from.index ? place.index - 1 : place.index;
        if (step) target?.splice(index, 0, step);
        const result = moveStep(steps, key, place);
        if (isInside || !isFine(copy)) expect(result).toHaveProperty('refused');
        else expect(done(result).steps).toEqual(copy);
      }),
      options,
    );
  });

  it('leaves the flow as it was when the step moves back', () => {
    fc.assert(
      fc.property(randomSteps, pick, pick, (steps, n, to) => {
        const found = nthOf(allSteps(steps), n);
        fc.pre(found !== undefined);
        const key = keyOf(found.step);
        const moved = moveStep(steps, key, placeOf(steps, to));
        fc.pre('steps' in moved);
        const now = findStep(moved.steps, key)?.place;
        const { branch, index } = found.place;
        const isSame = now?.branch?.step === branch?.step && now?.branch?.key === branch?.key;
        const back = { branch, index: isSame && now && now.index < index ? index + 1 : index };
        expect(done(moveStep(moved.steps, key, back)).steps).toEqual(steps);
      }),
      options,
    );
  });

  it('says which step names it', () => {
    const steps: Step[] = [
      { type: 'email', id: 1 },
      { type: 'condition', id: 4, filters: [{ name: 'email_opened', predicate: 'did', value: { step: 1 } }] },
    ];
    expect(moveStep(steps, 1, { branch: null, index: 2 })).toEqual({
      refused: 'Condition 4 names Email 1, which would no longer come before it. Change that first.',
    });
    expect(removeStep(steps, 1)).toEqual({ refused: 'Condition 4 names Email 1. Change that first.' });
  });
});

describe('removing a step', () => {
  it('takes only it and its branches, and is refused exactly if another step names one of them', () => {
    fc.assert(
      fc.property(randomSteps, pick, (steps, n) => {
        const key = nthOf(keysOf(steps), n);
        fc.pre(key !== undefined);
        const { copy, home } = copyOf(steps);
        const { sequence, index } = home(key);
        sequence.splice(index, 1);
        const result = removeStep(steps, key);
        if (isFine(copy)) expect(done(result).steps).toEqual(copy);
        else expect(result).toHaveProperty('refused');
      }),
      options,
    );
  });
});

describe('changing a step', () => {
  it('keeps its other fields and all other steps, and refuses to drop a branch with steps that others name', () => {
    fc.assert(
      fc.property(randomSteps, pick, (steps, n) => {
        const step = nthOf(stepsOf(steps), n);
        fc.pre(step !== undefined);
        const patch = step.branches
          ? { branches: step.branches.slice(0, 2).map((each) => ({ ...each, weight: 50 })) }
          : { reason: 'x' };
        const { copy, home } = copyOf(steps);
        const { sequence, index } = home(keyOf(step));
        sequence[index] = { ...structuredClone(step), ...structuredClone(patch) };
        const result = changeStep(steps, keyOf(step), patch);
        if (step.branches && !isFine(copy)) expect(result).toHaveProperty('refused');
        else expect(done(result).steps).toEqual(copy);
      }),
      options,
    );
  });

  it('removes a field that becomes undefined', () => {
    const steps: Step[] = [{ type: 'wait', id: 1, duration: 5 }];
    const until = { time: '09:00' };
    expect(done(changeStep(steps, 1, { duration: undefined, until })).steps).toStrictEqual([
      { type: 'wait', id: 1, until },
    ]);
  });
});

describe('copying and pasting steps', () => {
  const copyIn = (steps: readonly Step[], n: number, m: number, to: number) => {
    const keys = [nthOf(keysOf(steps), n), nthOf(keysOf(steps), m)].flatMap((key) => key ?? []);
    return { clip: copySteps(steps, keys, 1), place: placeOf(steps, to) };
  };

  it('leaves the flow as it is around copies with names of their own, which name each other', () => {
    fc.assert(
      fc.property(randomSteps, pick, pick, pick, (steps, n, m, to) => {
        fc.pre(steps.length > 0);
        const { clip, place } = copyIn(steps, n, m, to);
        const { steps: next } = done(pasteSteps(steps, place, clip, 1));
        expect(refusedByApi(next)).toEqual({});
        const before = new Set(keysOf(steps));
        const copies = stepsOf(next).filter((step) => !before.has(keyOf(step)));
        const copied = stepsOf((JSON.parse(clip) as { steps: Step[] }).steps);
        expect(copies.map(({ type }) => type)).toEqual(copied.map(({ type }) => type));
        expect(copies.every(({ id, ref }) => id === undefined && ref !== undefined)).toBe(true);
        const refs = new Map(copied.map((step, index) => [keyOf(step), copies[index]?.ref]));
        const first = copies[0];
        const known = new Set(first ? stepsBefore(next, keyOf(first)).map(keyOf) : []);
        for (const [index, step] of copied.entries()) {
          const expected = namedIn(step).flatMap((key) => refs.get(key) ?? (known.has(key) ? key : []));
          expect(namedIn(copies[index] ?? step)).toEqual(expected);
        }
        let rest = next;
        for (const key of copies.map(keyOf).toReversed()) rest = done(removeStep(rest, key)).steps;
        expect(rest).toEqual(steps);
      }),
      options,
    );
  });

  it('names no step outside the copies in another flow, and reports each name that is lost', () => {
    fc.assert(
      fc.property(randomSteps, randomSteps, pick, pick, (steps, other, n, to) => {
        fc.pre(steps.length > 0);
        const key = nthOf(keysOf(steps), n);
        const clip = copySteps(steps, key === undefined ? [] : [key], 1);
        const { steps: next, notes = [] } = done(pasteSteps(other, placeOf(other, to), clip, 2));
        expect(refusedByApi(next)).toEqual({});
        const before = new Set(keysOf(other));
        const copies = stepsOf(next).filter((step) => !before.has(keyOf(step)));
        const refs = new Set<StepKey | undefined>(copies.map(({ ref }) => ref));
        expect(copies.flatMap(namedIn).every((named) => refs.has(named))).toBe(true);
        const copied = stepsOf((JSON.parse(clip) as { steps: Step[] }).steps);
        const inside = new Set(copied.map(keyOf));
        const losers = copied.filter((step) => namedIn(step).some((named) => !inside.has(named)));
        expect(notes).toHaveLength(losers.length);
      }),
      options,
    );
  });

  it('refuses a text that is no copy of steps', () => {
    const place = { branch: null, index: 0 };
    for (const clip of ['', '{}', '[]', '{"format":"carillon-flow-steps","flow":1,"steps":[5]}']) {
      expect(pasteSteps([], place, clip, 1)).toEqual({ refused: 'There are no copied steps to paste.' });
    }
  });
});
