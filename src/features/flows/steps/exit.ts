import { z } from 'zod';
import { stepShape } from './shapes.ts';
import type { StepType } from './step.ts';

export interface ExitStep {
  type: 'exit';
  id: number;
  reason?: string;
}

/** Reasons with which the service itself ends runs, so that a report tells them from those of the client. */
const OWN_REASONS = [
  'end',
  'goal',
  'unsubscribed',
  'suppressed',
  'contact_deleted',
  'exit_filters',
  'archived',
  'canceled',
  'overdue',
  'error',
  'step_removed',
  'date_passed',
  'date_missing',
];

/** Ends the run, out of all branches. */
export const exit: StepType<ExitStep> = {
  type: 'exit',
  shape: stepShape('exit', {
    reason: z
      .string()
      .regex(/^[a-z][a-z0-9_]{0,63}$/)
      .refine((reason) => !OWN_REASONS.includes(reason), 'is a reason of the service itself')
      .optional(),
  }),
  presented: { reason: z.string() },
  run: ({ reason = 'exit' }) => Promise.resolve({ result: { outcome: 'exit' }, next: null, exit: reason }),
};
