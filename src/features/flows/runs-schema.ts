import { z } from 'zod';
import { messageStatuses } from '../../delivery/terms/message.ts';
import { filterTime } from '../../platform/db/filter-time.ts';
import { idFilter, idParam, MAX_ID, pageQuery } from '../../platform/db/paging.ts';
import { byStrangers } from '../../platform/openapi/strangers-texts.ts';

const when = z.iso.datetime();

export const runStates = ['active', 'completed', 'exited', 'canceled'] as const;
const waitReasons = ['time', 'event', 'webhook', 'quiet_hours', 'resume'] as const;
const runCauses = ['event', 'list', 'segment', 'request'] as const;

export const runParams = z.strictObject({ id: idParam });

const stepId = z
  .string()
  .regex(/^[1-9][0-9]{0,8}$/, 'must be the id of a step')
  .transform(Number);
const contactId = z
  .string()
  .regex(/^[1-9][0-9]{0,14}$/, `must be an id, at most ${MAX_ID}`)
  .transform(Number);

export const listRunsQuery = z.strictObject({
  ...pageQuery,
  contact_id: contactId.optional().meta({ description: 'Runs of this contact.' }),
  state: z.enum(runStates).optional(),
  step_id: stepId.optional().meta({ description: 'Active runs that are at this step.' }),
  version: idFilter.meta({ description: 'Runs that follow the version with this number.' }),
  cohort: idFilter.meta({ description: 'Runs of the cohort with this number: they share a clock.' }),
  created_after: filterTime.optional(),
  created_before: filterTime.optional(),
});
export type ListRunsQuery = z.output<typeof listRunsQuery>;

const runFields = {
  id: z.int(),
  flow_id: z.int(),
  contact_id: z.int(),
  contact: z
    .object({
      first_name: z.string().nullable(),
      last_name: z.string().nullable(),
      email: z.string().nullable(),
      phone: z.string().nullable(),
    })
    .meta({ id: 'FlowRunContact' })
    .nullable()
    .meta({ description: 'Who takes the steps, as the contact is now; null if it was deleted.' }),
  version: z.int().nullable().meta({
    description: 'The number of the version that the run follows; null if the version was deleted.',
  }),
  state: z.enum(runStates),
  reason: z
    .string()
    .nullable()
    .meta({
      description:
        'Why it ended: `end`, the reason of an exit step, `goal`, `exit_filters`, `unsubscribed`, `suppressed`, ' +
        '`contact_deleted`, `archived`, `canceled`, `overdue` and others; null while it is active.',
    }),
  step_id: z
    .int()
    .nullable()
    .meta({ description: 'The step that an active run is at; null: before the first.' }),
  waits_for: z.enum(waitReasons).nullable().meta({
    description:
      'What an active run waits for; `resume` means that the flow is paused. Null if its next step is due.',
  }),
  due_at: when
    .nullable()
    .meta({ description: 'When the run continues at the latest; null if no time is set.' }),
  failures: z
    .int()
    .meta({ description: 'How often in a row the step of an active run has failed, such as a request.' }),
  retry_at: when.nullable().meta({
    description:
      'When an active run of a cohort tries its step again, or makes the request that has to wait. Null if no such time ' +
      'is set; the workflow of any other run has that time.',
  }),
  workflow_id: z.string().meta({
    description:
      "The workflow in Temporal that is the run's clock: `flow-cohort/<flow>/<number>` of its cohort, or " +
      '`flow-run/<flow>/<contact>/<cause>` of its own.',
  }),
  cohort: z
    .object({
      number: z.int().meta({ description: 'The number of the cohort in the flow; see the filter `cohort`.' }),
      size: z.int().meta({ description: 'How many runs were added to it, of which some may be deleted.' }),
    })
    .meta({ id: 'FlowRunCohort' })
    .nullable()
    .meta({ description: 'The runs that share its clock; null if the run has a workflow of its own.' }),
  cause: z.enum(runCauses).meta({ description: 'What let the contact enter.' }),
  test: z
    .boolean()
    .meta({ description: 'Whether a test event started the run; its messages are then test messages.' }),
  created_at: when,
  updated_at: when,
  ended_at: when.nullable(),
};

export const runSummary = z.object(runFields).meta({ id: 'FlowRunSummary' });
export type RunSummary = z.input<typeof runSummary>;

const pathStep = z.object({
  step_id: z.int(),
  type: z.string(),
  outcome: z
    .string()
    .nullable()
    .meta({
      description:
        'What the step did or decided: `sent`, `skipped`, `failed`, `refused`, `yes`, `no`, `timeout`, `branch 1`, `done` ' +
        'and others.',
    }),
  detail: byStrangers(
    z.record(z.string(), z.unknown()).nullable().meta({
      description: 'Details, such as `reason`, or the `status` and `body` of a webhook response.',
    }),
    { fields: ['body'] },
  ),
  message: z
    .object({
      id: z.int(),
      status: z.enum(messageStatuses),
      failure: z.object({ code: z.string(), message: byStrangers(z.string()) }).nullable(),
      attempt_count: z
        .int()
        .min(0)
        .meta({ description: 'How often it was handed over, as far as is recorded.' }),
      unknown_at: when.nullable().meta({
        description:
          'When it first was unknown whether the provider has the message; null: never. It stays if that became known, ' +
          'or if the message was handed over again.',
      }),
    })
    .meta({ id: 'FlowRunMessage' })
    .nullable()
    .meta({ description: 'The message that the step created, in its current state.' }),
  event_id: z.int().nullable().meta({ description: 'The event that arrived, or that the step tracked.' }),
  entered_at: when,
  left_at: when.nullable(),
});
export type PathStep = z.input<typeof pathStep>;

export const runSchema = z
  .object({
    ...runFields,
    event: z
      .object({ id: z.int(), name: z.string() })
      .nullable()
      .meta({ description: 'The event that let the contact enter.' }),
    path: z.array(pathStep).meta({ description: 'The steps that the run has taken, in order.' }),
  })
  .meta({ id: 'FlowRun' });
export type FlowRun = z.input<typeof runSchema>;
