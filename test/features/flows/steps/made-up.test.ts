// A new type of step is one object in the list: reading, running, simulating and the description follow from it.
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { readSteps } from '../../../../src/features/flows/read-steps.ts';
import { advanceSteps, firstRecord } from '../../../../src/features/flows/run/interpreter.ts';
import { type SimulatedContact, simulateRun } from '../../../../src/features/flows/simulate/simulation.ts';
import { createStepTable, type Step, stepTypes } from '../../../../src/features/flows/steps/index.ts';
import { stepShape } from '../../../../src/features/flows/steps/shapes.ts';
import type { StepType } from '../../../../src/features/flows/steps/step.ts';
import { scriptedContext } from '../run/scripted-context.ts';

interface CouponStep {
  type: 'coupon';
  id: number;
  percent: number;
  used: readonly Step[];
}

/** Gives the contact a coupon, and does further steps if it is used at once. */
const coupon: StepType<CouponStep, { used: boolean }> = {
  type: 'coupon',
  shape: stepShape('coupon', { percent: z.int().min(1).max(100) }),
  branches: {
    fields: (branch) => ({ used: branch }),
    presented: (steps) => ({ used: steps() }),
    map: ({ used }: { used?: unknown }, change) => ({ used: change(used, 'used') }),
  },
  presented: { percent: z.int() },
  async run(step, { next, context }) {
    const result = await context.act(step);
    if ('exit' in result) return { result: { outcome: 'skipped' }, next, exit: result.exit };
    return { result, next: (result.outcome === 'used' ? step.used[0] : null) ?? next };
  },
  simulate({ percent }, { assumed, changes }) {
    changes.data.coupon = percent;
    return { outcome: assumed.used ? 'used' : 'kept' };
  },
  assumptions: { yesNo: false, fields: { used: z.boolean().optional() }, description: '`{"used": true}`' },
};

const table = createStepTable([...stepTypes, coupon]);

const AT = new Date('2026-03-10T12:00:00Z');
const exit: Step = { type: 'exit', id: 2, reason: 'bought' };
const steps = [{ type: 'coupon', id: 1, percent: 20, used: [exit] }] as unknown as Step[];

describe('a made-up type of step', () => {
  it('is read with its branches, and errors name their paths', () => {
    const given = [{ type: 'coupon', percent: 0, used: [{ type: 'wait', duration: 0 }] }];
    expect(Object.keys(readSteps(given, table).errors)).toEqual([
      'steps[0].percent',
      'steps[0].used[0].duration',
    ]);
    expect(readSteps([{ type: 'coupon', percent: 5 }], table).steps).toEqual([
      { type: 'coupon', percent: 5, used: [] },
    ]);
    expect(readSteps([{ type: 'cupon' }], table).errors).toEqual({
      'steps[0].type': ['is not a type of step; did you mean coupon?'],
    });
  });

  it('is described with its branches', () => {
    const text = JSON.stringify(z.toJSONSchema(table.describe(), { io: 'input' }));
    expect(text).toContain('"CouponStep":{');
    expect(text).toContain('"percent":{"type":"integer","minimum":1,"maximum":100}');
  });

  it('is run, and leads into its branch', async () => {
    const context = scriptedContext({ asOf: AT.toISOString() });
    const halt = await advanceSteps(steps, firstRecord(AT), context, table);
    expect(halt).toMatchObject({ halt: 'end', state: 'completed' });
    expect([context.calls, context.path]).toEqual([['coupon 1'], ['1 done']]);
    const using = { ...context, act: () => Promise.resolve({ outcome: 'used' }) };
    const used = await advanceSteps(steps, firstRecord(AT), using, table);
    expect(used).toMatchObject({ halt: 'end', state: 'exited', reason: 'bought' });
  });

  it('is simulated as the client assumes', async () => {
    const facts = {} as SimulatedContact;
    const flow = { steps, exitFilters: [], goal: null };
    const given = (used: boolean) => ({
      at: AT,
      eventData: {},
      answers: { steps: new Map([[1, { used }]]), goalAfterSeconds: null },
    });
    const bought = await simulateRun(flow, facts, given(true), table);
    expect([bought.path.map(({ outcome }) => outcome), bought.ends.reason]).toEqual([
      ['used', 'exit'],
      'bought',
    ]);
    expect((await simulateRun(flow, facts, given(false), table)).ends.reason).toBe('end');
  });
});
