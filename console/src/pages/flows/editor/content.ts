/** A flow as the editor has it, and as the API takes it. */
import type { Schemas } from '../../../api/client.ts';
import { withRefs } from './commands.ts';
import type { FlowContent } from './model.ts';

export const contentOf = ({ name, goal, trigger, steps }: Schemas['Flow']): FlowContent => ({
  name,
  goal,
  trigger,
  steps: withRefs(steps),
});

/** What a PATCH, a check and a simulation take. */
export const requestOf = ({ name, goal, trigger, steps }: FlowContent) => ({
  name,
  goal,
  // The types of requests say more about each type of step than the editor knows.
  trigger: trigger as Schemas['FlowTriggerInput'],
  steps: steps as Schemas['FlowStepInput'][],
});
