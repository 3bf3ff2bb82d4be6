import { z } from 'zod';
import { stepShape } from './shapes.ts';
import type { StepType } from './step.ts';

export interface ExitStep {
  type: 'exit';
  id: number;
  reason?: string;
}

/** Reasons for which the service itself ends runs. Clients cannot use them, so reports can distinguish the two. */
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
  'date_unreadable',
];

/** Ends the run, also from inside branches. */
export const exit: StepType<ExitStep> = {
  type: 'exit',
  shape: stepShape('exit', {
    reason: z
      .string()
      .regex(
        /^[a-z][a-z0-9_]{0,63}$/,
        'must have 1 to 64 lower-case letters, digits and underscores, and begin with a letter',
      )
      .refine(
        (reason) => !OWN_REASONS.includes(reason),
        'is a reason that the service itself uses; choose another one',
      )
      .optional(),
  }),
  presented: { reason: z.string() },
  run: ({ reason = 'exit' }) => Promise.resolve({ result: { outcome: 'exit' }, next: null, exit: reason }),
};
