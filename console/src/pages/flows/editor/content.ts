/** A flow as the editor has it, and as the API takes it. */
import type { Schemas } from '../../../api/client.ts';
import { withoutDraftFields } from '../../../editors/content/content.ts';
import { mapBranches, withRefs } from './commands.ts';
import type { FlowContent, Step } from './model.ts';

export const contentOf = ({ name, goal, unknown, trigger, steps }: Schemas['Flow']): FlowContent => ({
  name,
  goal,
  unknown,
  trigger,
  steps: withRefs(steps),
});

/** Steps without the fields that only drafts have. */
const savedSteps = (steps: readonly Step[]): Step[] =>
  steps.map((step) => mapBranches(withoutDraftFields(step), savedSteps));

/** What runs do, as a check and a simulation take it. */
export const requestOf = ({ goal, trigger, steps }: FlowContent) => ({
  goal,
  // The types of requests say more about each type of step than the editor knows.
  trigger: trigger as Schemas['FlowTriggerInput'],
  steps: savedSteps(steps) as Schemas['FlowStepInput'][],
});

/** What a PATCH takes. */
export const changesOf = (content: FlowContent) => ({
  name: content.name,
  ...(content.unknown === undefined ? {} : { unknown: content.unknown }),
  ...requestOf(content),
});
