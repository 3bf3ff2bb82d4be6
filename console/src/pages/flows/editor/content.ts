/** A flow as the editor has it, and as the API takes it. */
import type { Schemas } from '../../../api/client.ts';
import { withoutDraftFields } from '../../../editors/content/content.ts';
import { mapBranches, withRefs } from './commands.ts';
import type { FlowContent, Step } from './model.ts';

export const contentOf = ({ name, goal, trigger, steps }: Schemas['Flow']): FlowContent => ({
  name,
  goal,
  trigger,
  steps: withRefs(steps),
});

/** Steps without the fields that only drafts have. */
const savedSteps = (steps: readonly Step[]): Step[] =>
  steps.map((step) => mapBranches(withoutDraftFields(step), savedSteps));

/** What a PATCH, a check and a simulation take. */
export const requestOf = ({ name, goal, trigger, steps }: FlowContent) => ({
  name,
  goal,
  // The types of requests say more about each type of step than the editor knows.
  trigger: trigger as Schemas['FlowTriggerInput'],
  steps: savedSteps(steps) as Schemas['FlowStepInput'][],
});
