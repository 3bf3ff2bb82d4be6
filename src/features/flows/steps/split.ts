import { z } from 'zod';
import type { Step } from './index.ts';
import { stepShape } from './shapes.ts';
import type { Branches, StepType } from './step.ts';

export interface SplitStep {
  type: 'split';
  id: number;
  /** All weights add up to 100. */
  branches: readonly { weight: number; steps: readonly Step[] }[];
}

const MAX_BRANCHES = 10;

const branches: Branches = {
  fields: (branch) => ({
    branches: z
      .array(z.strictObject({ weight: z.int().min(0).max(100), steps: branch }).meta({ id: 'SplitBranch' }))
      .min(2)
      .max(MAX_BRANCHES)
      .superRefine((given, context) => {
        const sum = given.reduce((total, { weight }) => total + weight, 0);
        if (sum === 100) return;
        context.addIssue({ code: 'custom', message: `must have weights that add up to 100, not ${sum}` });
      }),
  }),
  presented: (steps) => ({ branches: z.array(z.object({ weight: z.int(), steps: steps() })) }),
  map({ branches: given }: { branches?: unknown }, change) {
    if (!Array.isArray(given)) return {};
    const changed = given.map((branch: Partial<SplitStep['branches'][number]> | null, n) => {
      if (typeof branch !== 'object' || branch === null) return branch;
      return { weight: branch.weight, steps: change(branch.steps, `branches.${n}.steps`) };
    });
    return { branches: changed };
  },
};

/** Takes one of several branches. Only the ids of the flow, the contact and the step decide which one. */
export const split: StepType<SplitStep> = {
  type: 'split',
  shape: stepShape('split', {}),
  branches,
  presented: {},

  run(step, { next, context }) {
    const percentile = context.percentile(step.id);
    let upTo = 0;
    const chosen = step.branches.findIndex(({ weight }) => percentile < (upTo += weight));
    // Fractional weights may add up to slightly less than 100.
    const n = chosen === -1 ? step.branches.length - 1 : chosen;
    const first = step.branches[n]?.steps[0];
    return Promise.resolve({ result: { outcome: `branch ${n + 1}` }, next: first ?? next });
  },
};
