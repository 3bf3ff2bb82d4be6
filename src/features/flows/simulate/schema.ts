import { z } from 'zod';
import { idParam, MAX_ID } from '../../../platform/db/paging.ts';
import { eventData } from '../../contact-events/schema.ts';
import { stepTypes } from '../steps/index.ts';
import type { StepType } from '../steps/step.ts';
import { unsavedFlow } from '../unsaved.ts';
import { MAX_SIMULATED_STEPS, MAX_SIMULATED_YEARS } from './simulation.ts';

/** Maximum number of steps with an answer: that of the steps of a flow. */
const MAX_ANSWERS = 200;
/** A year and a day, like the longest wait. */
const MAX_SECONDS = 31_622_400;
const MAX_YEARS_AWAY = 10;

const seconds = z.int().min(0).max(MAX_SECONDS);
const when = z.iso.datetime();

const assumptions = (stepTypes as readonly StepType[]).flatMap((type) =>
  type.assumptions ? { type: type.type, ...type.assumptions } : [],
);

const answer = z.union([
  z.enum(['yes', 'no']),
  z
    .strictObject(Object.assign({}, ...assumptions.map(({ fields }) => fields)) as z.ZodRawShape)
    .meta({ id: 'SimulatedAnswer' }),
]);

const at = z.iso
  .datetime({ offset: true })
  .max(64)
  .refine((text) => Math.abs(new Date(text).getTime() - Date.now()) < MAX_YEARS_AWAY * 31_622_400_000, {
    message: `must be within ${MAX_YEARS_AWAY} years of now`,
  });

export const simulateParams = z.object({ id: idParam });

const contactId = z.int().min(1).max(MAX_ID);

const assumed = {
  event_data: eventData.optional().meta({ description: 'The `data` of the event that starts the run.' }),
  at: at.optional().meta({ description: 'When the contact enters; now by default.' }),
  answers: z
    .strictObject({
      steps: z
        .record(z.string(), answer)
        .refine((given) => Object.keys(given).length <= MAX_ANSWERS, `must have at most ${MAX_ANSWERS} names`)
        .optional()
        .meta({
          description: [
            'Assumptions by the id of their step, or by its `ref` in this request.',
            ...assumptions.map(({ type, description }) => `\`${type}\`: ${description}.`),
          ].join(' '),
        }),
      goal: z.strictObject({ after_seconds: seconds }).optional().meta({
        description: 'When the contact reaches the goal of the flow, in seconds after the entry.',
      }),
    })
    .optional(),
};

export const simulateBody = z
  .strictObject({
    // Checked after the flow has been found.
    contact_id: contactId.optional().meta({ description: 'Required: a contact of the brand.' }),
    ...assumed,
  })
  .meta({
    id: 'SimulateFlow',
    examples: [{ contact_id: 7, event_data: { plan: 'pro' }, answers: { steps: { '3': 'yes' } } }],
  });

export const simulateUnsavedBody = z
  .strictObject({
    ...unsavedFlow,
    contact_id: contactId.meta({ description: 'A contact of the brand.' }),
    ...assumed,
  })
  .meta({ id: 'SimulateUnsavedFlow' });
export type SimulateUnsavedBody = z.output<typeof simulateUnsavedBody>;
export type SimulateBody = z.output<typeof simulateBody>;

const simulatedStep = z.object({
  step_id: z.int(),
  position: z.string().meta({ description: 'Where the step is, as in errors: `steps[2].yes[0]`.' }),
  type: z.string(),
  entered_at: when.meta({ description: 'When the run reaches the step.' }),
  left_at: when.meta({ description: 'When the run leaves the step.' }),
  outcome: z.string(),
  detail: z.record(z.string(), z.unknown()).nullable(),
});

export const simulationSchema = z
  .object({
    passes_filters: z.boolean().meta({
      description: 'Whether the contact matches the filters of the trigger. If not, it would not enter.',
    }),
    path: z.array(simulatedStep).max(MAX_SIMULATED_STEPS),
    ends: z.object({
      state: z.enum(['active', 'completed', 'exited']).meta({
        description: `\`active\`: a wait ends more than ${MAX_SIMULATED_YEARS} years after the entry.`,
      }),
      reason: z.string(),
      at: when,
    }),
  })
  .meta({ id: 'FlowSimulation' });
export type FlowSimulation = z.output<typeof simulationSchema>;
