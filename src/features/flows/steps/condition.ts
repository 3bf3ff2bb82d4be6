import { presentedFields, stepFilters, stepShape } from './shapes.ts';
import type { Filters, StepType } from './step.ts';
import { type YesNo, yesNo } from './yes-no.ts';

export interface ConditionStep extends YesNo {
  type: 'condition';
  id: number;
  filters: Filters;
}

/** Takes one of two branches, depending on whether the contact matches all filters. */
export const condition: StepType<ConditionStep> = {
  type: 'condition',
  shape: stepShape('condition', { filters: stepFilters(1) }),
  branches: yesNo,
  references: ({ filters }) => ({ filters }),
  presented: { filters: presentedFields.filters },

  async run(step, { next, context }) {
    const holds = await context.matches(step.filters);
    const branch = holds ? step.yes : step.no;
    return { result: { outcome: holds ? 'yes' : 'no' }, next: branch[0] ?? next };
  },

  assumptions: { yesNo: true, fields: {}, description: '`"yes"` or `"no"`' },
};
