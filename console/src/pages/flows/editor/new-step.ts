import type { Step, StepType } from './model.ts';

const DAY = 86_400;

/** What a new step has before the user says anything. What must be said is left empty: the checks name it. */
const FIELDS: Readonly<Record<StepType, Partial<Step>>> = {
  email: { subject: '', body: '' },
  sms: { body: '' },
  wait: { duration: DAY },
  condition: { filters: [], yes: [], no: [] },
  wait_for_event: { event_name: '', filters: [], duration: DAY, yes: [], no: [] },
  event: { event_name: '' },
  update_contact: { data: {} },
  add_to_list: {},
  remove_from_list: {},
  webhook: { url: '', method: 'POST' },
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
