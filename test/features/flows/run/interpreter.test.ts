// The flow interpreter follows branches exactly, and asks before each step whether to end.
import { describe, expect, it } from '@jest/globals';
import {
  findStep,
  type Halt,
  MAX_STEPS_AT_ONCE,
  nextOf,
} from '../../../../src/features/flows/run/interpreter.ts';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { advance, begin, email, waiting } from './advancing.ts';
import type { ScriptedContext } from './scripted-context.ts';

const END = '2026-03-10T13:00:00.000Z';
const days: Step = { type: 'wait', id: 1, duration: 86_400 };

describe('a run', () => {
  it('without steps is completed', async () => {
    expect(await begin([])).toMatchObject({ halt: 'end', state: 'completed', reason: 'end' });
  });

  it('takes at most 50 steps at a time, and then the others', async () => {
    const steps = Array.from({ length: 120 }, (_, n) => email(n + 1));
    let halt: Halt & { context: ScriptedContext } = await begin(steps);
    const counts = [halt.context.path.length];
    while (halt.halt === 'again') {
      halt = await advance(steps, halt.record);
      counts.push(halt.context.path.length);
    }
    expect(counts).toEqual([MAX_STEPS_AT_ONCE, MAX_STEPS_AT_ONCE, 20]);
    expect(halt).toMatchObject({ halt: 'end', record: { steps: 120 } });
  });

  it('ends if its step is missing', async () => {
    expect(await advance([email(1)], waiting(9, null))).toMatchObject({
      halt: 'end',
      reason: 'step_removed',
    });
  });

  it('continues after a branch, even after an empty one', async () => {
    const inner: Step = { type: 'condition', id: 2, filters: [], yes: [], no: [] };
    const outer: Step = { type: 'condition', id: 1, filters: [], yes: [inner], no: [email(4)] };
    const halt = await begin([outer, email(3)]);
    expect(halt.context.path).toEqual(['1 yes', '2 yes', '3 sent']);
    expect(nextOf([outer, email(3)], 2)?.id).toBe(3);
    expect(nextOf([outer, email(3)], 4)?.id).toBe(3);
    expect(nextOf([outer, email(3)], 3)).toBeNull();
    expect(findStep([outer], 4)?.id).toBe(4);
    expect(findStep([outer], 5)).toBeNull();
  });

  it('checks before each step whether it must end, but not while it waits', async () => {
    const halt = await begin([email(1)], { mustExit: 'exit_filters' });
    expect(halt).toMatchObject({
      halt: 'end',
      state: 'exited',
      reason: 'exit_filters',
      context: { path: [] },
    });
    expect(
      await advance([days], waiting(1, { for: 'time', until: END }), { mustExit: 'exit_filters' }),
    ).toMatchObject({ halt: 'wait' });
  });
});
