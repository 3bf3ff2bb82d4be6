import type { Step, StepType } from './model.ts';

const DAY = 86_400;

/** What a new step has before the user says anything. What must be said is left out: the checks name it. */
const FIELDS: Readonly<Record<StepType, Partial<Step>>> = {
  email: {},
  sms: {},
  wait: { duration: DAY },
  condition: { yes: [], no: [] },
  wait_for_event: { duration: DAY, yes: [], no: [] },
  event: {},
  update_contact: {},
  add_to_list: {},
  remove_from_list: {},
  webhook: { method: 'POST' },
  split: {
    branches: [
      { weight: 50, steps: [] },
      { weight: 50, steps: [] },
    ],
  },
  exit: {},
};

/** Returns a step that is not yet published. */
export const newStep = (type: StepType, ref: string): Step => ({ type, ref, ...FIELDS[type] });
