// Undo and redo in the flow editor go back and forth through every change.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { copySteps, pasteSteps } from '../../../console/src/pages/flows/editor/clip.ts';
import {
  allInsertionPoints,
  insertStep,
  moveStep,
  nudgeStep,
  removeStep,
} from '../../../console/src/pages/flows/editor/commands.ts';
import { emptyHistory, redo, remember, undo } from '../../../console/src/pages/flows/editor/history.ts';
import { allSteps, type Step } from '../../../console/src/pages/flows/editor/model.ts';
import { keyOf } from '../../../console/src/pages/flows/flow-layout.ts';
import { randomSteps } from './random-flows.ts';

const COMMANDS = ['insert', 'move', 'up', 'down', 'remove', 'paste'] as const;
const command = fc.tuple(fc.constantFrom(...COMMANDS), fc.nat(9_999), fc.nat(9_999));

/** Runs a command on a step and at a place that the numbers choose. @returns the same steps if it is refused */
function run(steps: readonly Step[], [name, n, to]: [(typeof COMMANDS)[number], number, number]) {
  const all = allSteps(steps);
  const found = all[n % all.length]?.step;
  const key = found ? keyOf(found) : '';
  const places = allInsertionPoints(steps);
  const place = places[to % places.length] ?? { branch: null, index: 0 };
  const results = {
    insert: () => insertStep(steps, place, 'split'),
    move: () => moveStep(steps, key, place),
    up: () => nudgeStep(steps, key, 'up'),
    down: () => nudgeStep(steps, key, 'down'),
    remove: () => removeStep(steps, key),
    paste: () => pasteSteps(steps, place, copySteps(steps, [key], 1), 1),
  };
  const result = results[name]();
  return 'refused' in result ? steps : result.steps;
}

describe('the history of a flow in the editor', () => {
  it('goes back to the first state and forth to the last, in the same steps', () => {
    fc.assert(
      fc.property(randomSteps, fc.array(command, { maxLength: 12 }), (first, commands) => {
        let history = emptyHistory<readonly Step[]>();
        let present: readonly Step[] = first;
        const states: (readonly Step[])[] = [structuredClone(first)];
        for (const each of commands) {
          const next = run(present, each);
          if (next === present) continue;
          history = remember(history, present, null);
          present = next;
          states.push(structuredClone(next));
        }
        const walked = [present];
        for (let found = undo(history, present); found; found = undo(history, present)) {
          ({ history, state: present } = found);
          walked.unshift(present);
        }
        expect(walked).toEqual(states);
        let again = redo(history, present);
        while (again) {
          present = again.state;
          again = redo(again.history, present);
        }
        expect(present).toEqual(states.at(-1));
      }),
      { numRuns: 300, seed: Number(process.env.FLOWS_SEED ?? Date.now() % 2 ** 31) },
    );
  });

  it('undoes what is typed into one field as a whole, and each field by itself', () => {
    let history = emptyHistory<string>();
    for (const [state, about] of [
      ['', 'a'],
      ['h', 'a'],
      ['hi', 'b'],
      ['hi 1', 'b'],
    ] as const) {
      history = remember(history, state, about);
    }
    expect(history.past).toEqual(['', 'hi']);
  });

  it('forgets what was undone once something else changes', () => {
    const undone = undo(remember(emptyHistory<number>(), 1, null), 2);
    expect(undone?.state).toBe(1);
    expect(redo(undone?.history ?? emptyHistory<number>(), 1)?.state).toBe(2);
    expect(redo(remember(undone?.history ?? emptyHistory<number>(), 1, null), 3)).toBeNull();
  });
});

describe('moving a step by one place', () => {
  const steps: Step[] = [
    { type: 'email', id: 1 },
    { type: 'condition', id: 2, filters: [], yes: [{ type: 'exit', id: 3 }], no: [] },
    { type: 'wait', id: 4, duration: 1 },
  ];
  const walk = (key: number, direction: 'up' | 'down') => {
    const shapes: string[] = [];
    let present: readonly Step[] = steps;
    for (;;) {
      const result = nudgeStep(present, key, direction);
      if ('refused' in result || result.steps === present) return shapes;
      present = result.steps;
      const shape = (sequence: readonly Step[]): string =>
        sequence
          .map(({ id, yes, no }) => `${id}${yes && no ? `(${shape(yes)}|${shape(no)})` : ''}`)
          .join(' ');
      shapes.push(shape(present));
    }
  };

  it('leads into each branch and out of it, down to the end', () => {
    expect(walk(1, 'down')).toEqual(['2(1 3|) 4', '2(3 1|) 4', '2(3|1) 4', '2(3|) 1 4', '2(3|) 4 1']);
  });

  it('leads up to the start in the same way', () => {
    expect(walk(4, 'up')).toEqual(['1 2(3|4)', '1 2(3 4|)', '1 2(4 3|)', '1 4 2(3|)', '4 1 2(3|)']);
  });
});
