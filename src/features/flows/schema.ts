import { z } from 'zod';
import { oneLine } from '../../platform/input/one-line.ts';
import { filterTime } from '../../platform/db/filter-time.ts';
import { idParam, MAX_ID, summaryQuery, wholeListQuery } from '../../platform/db/paging.ts';
import { revisionField } from '../../platform/db/revisions.ts';
import { describeAs } from '../../platform/openapi/describe-as.ts';
import { eventName } from '../contact-events/schema.ts';
import { filterShape } from '../segments/index.ts';
import type { Twins } from '../../platform/input/read-only.ts';
import { contentTwin, templateResource, templateSummary } from '../templates/schema.ts';
import { flowFilterProblems } from './filters.ts';
import { approvalStates, flowStatuses, stopReasons, unknownChoices } from './model.ts';
import { readSteps, MAX_LEVELS, MAX_STEPS } from './read-steps.ts';
import { stepTable, stepTypeNames, stepTypes } from './steps/index.ts';
import { presentedFields } from './steps/shapes.ts';
import type { StepType } from './steps/step.ts';

const MAX_NAME = 255;
const MAX_FILTERS = 50;
/** Maximum size of the filters of a trigger as JSON, in bytes. */
const MAX_FILTER_BYTES = 65_536;
/** Longest delay before a contact may enter again: ten years, in seconds. */
const MAX_REENTRY_SECONDS = 315_360_000;

const when = z.iso.datetime();
const id = z.int().min(1).max(MAX_ID);
const nullableText = z.string().nullable();

export interface FlowStep {
  type: string;
  id: number;
  [field: string]: unknown;
}

/** The fields of all types in one schema; the type of a step decides which of them it has. */
function optional(fields: readonly Readonly<Record<string, z.ZodType>>[]): Record<string, z.ZodType> {
  const all = fields.flatMap((each) => Object.entries(each));
  return Object.fromEntries(all.map(([name, schema]) => [name, schema.optional()]));
}

const presentedBranches = () => z.array(z.lazy(() => stepSchema));

/** A step of a response. Its type decides which fields it has. */
const stepSchema: z.ZodType<FlowStep, FlowStep> = z
  .object({
    type: z.enum(stepTypeNames),
    id: z.int(),
    ...optional(stepTypes.map((type) => type.presented)),
    ...optional(stepTypes.map((type: StepType) => type.branches?.presented(presentedBranches) ?? {})),
  })
  .meta({ id: 'FlowStep' });

const reentry = z.union([
  z.enum(['once', 'every_time']),
  z.object({ after_seconds: z.int() }).meta({ id: 'ReentryDelay' }),
]);

const triggerSchema = z
  .object({
    event: nullableText,
    segment_id: z.int().nullable(),
    contact_list_id: z.int().nullable(),
    data: z.object({
      filters: presentedFields.filters.optional(),
      exit_filters: presentedFields.filters.optional(),
      reentry: reentry.optional(),
    }),
  })
  .meta({ id: 'FlowTrigger' });

const UNKNOWN =
  'What happens to a message of which it is unknown whether the provider has it, because a process died or a connection ' +
  'was lost: it stays `unknown` (`leave`), or is handed over again and may arrive twice (`resend`).';

const summaryFields = {
  id: z.int(),
  account_id: z.int(),
  status: z.enum(flowStatuses),
  approval_state: z.enum(approvalStates),
  name: z.string(),
  goal: nullableText.meta({ description: 'The name of the event that ends a run.' }),
  unknown: z.enum(unknownChoices).meta({ description: UNKNOWN }),
  trigger: triggerSchema,
  steps: z.array(stepSchema),
  sent_count: z
    .int()
    .min(0)
    .meta({ description: 'Messages that a provider accepted. The number never decreases.' }),
  stop: z
    .object({
      reason: z.enum(stopReasons),
      rate: z.number().nullable(),
      threshold: z.number().nullable(),
      at: when,
    })
    .nullable()
    .meta({ description: 'Why the service paused the flow.' }),
  revision: revisionField,
  created_at: when,
  updated_at: when,
};

const TEMPLATES = 'The template of each email and sms step, in the order of the steps.';

/** A flow in a list: its templates are without designs. */
export const flowSummary = z
  .object({ ...summaryFields, templates: z.array(templateSummary).meta({ description: TEMPLATES }) })
  .meta({ id: 'FlowSummary' });
export type FlowSummary = z.input<typeof flowSummary>;

export const flowSchema = z
  .object({
    ...summaryFields,
    templates: z.array(templateResource).meta({ description: TEMPLATES }),
  })
  .meta({ id: 'Flow' });
export type Flow = z.input<typeof flowSchema>;

/** Checks the filters of a trigger. They may name the trigger's event, but no steps. */
const readableFilters = z
  .array(z.unknown())
  .max(MAX_FILTERS)
  .superRefine((given, context) => {
    for (const { path, message } of flowFilterProblems(given, {
      steps: new Map(),
      received: false,
      compares: false,
    })) {
      context.addIssue({ code: 'custom', path: [...path], message });
    }
    if (Buffer.byteLength(JSON.stringify(given)) > MAX_FILTER_BYTES) {
      context.addIssue({ code: 'custom', message: `must have at most ${MAX_FILTER_BYTES} bytes as JSON` });
    }
  });
const triggerFilters = describeAs(readableFilters, () => z.array(filterShape).max(MAX_FILTERS));

const reentryDelay = z
  .strictObject({ after_seconds: z.int().min(1).max(MAX_REENTRY_SECONDS) })
  .meta({ id: 'ReentryDelay' });

const triggerBody = z
  .strictObject({
    event: eventName.nullish().meta({ description: 'Contacts enter when this event is tracked for them.' }),
    contact_list_id: id.nullish().meta({ description: 'Contacts enter when they are added to this list.' }),
    segment_id: id.nullish().meta({ description: 'Contacts enter when they begin to match this segment.' }),
    data: z
      .strictObject({
        filters: triggerFilters
          .optional()
          .meta({ description: 'Contacts who match all of these filters may enter.' }),
        exit_filters: triggerFilters.optional().meta({
          description: 'A run ends before its next step if the contact matches all of these filters.',
        }),
        reentry: z
          .union([z.enum(['once', 'every_time']), reentryDelay], {
            error: ({ input }) =>
              typeof input === 'object' && input !== null
                ? undefined
                : 'must be once, every_time, or an object with after_seconds',
          })
          .optional()
          .meta({
            description:
              'Whether a contact may enter the flow again; `once` by default. `every_time` is for event triggers only.',
          }),
      })
      .nullish()
      .meta({ description: 'Replaces the stored value.' }),
  })
  .superRefine((trigger, context) => {
    const given = (['event', 'contact_list_id', 'segment_id'] as const).filter(
      (field) => (trigger[field] ?? null) !== null,
    );
    for (const field of given.slice(1)) {
      const message = `must be left out: a flow has one trigger, and ${given[0]} is given`;
      context.addIssue({ code: 'custom', path: [field], message });
    }
  })
  .meta({ id: 'FlowTriggerInput' });
export type TriggerBody = z.output<typeof triggerBody>;

const readableSteps = z.unknown().transform((given, context) => {
  const read = readSteps(given);
  for (const [path, messages] of Object.entries(read.errors)) {
    for (const message of messages) {
      const rest = path.slice('steps'.length);
      context.addIssue({ code: 'custom', path: rest === '' ? [] : [rest], message });
    }
  }
  return read.steps;
});

const steps = describeAs(readableSteps, stepTable.describe).meta({
  maxItems: MAX_STEPS,
  description:
    `What a run does, in order: at most ${MAX_STEPS} steps in all and ${MAX_LEVELS} levels of branches. The guide to ` +
    'flows describes each type. Errors name the path, such as `steps[2].yes[0].duration`.',
  examples: [
    [
      { type: 'email', subject: 'Welcome', body: 'Hi {{ contact.first_name }}' },
      { type: 'wait', duration: 86_400 },
    ],
  ],
});

const name = oneLine(MAX_NAME).min(1);
const unknown = z
  .enum(unknownChoices)
  .optional()
  .meta({ description: `${UNKNOWN} By default \`leave\`.` });
const goal = eventName.nullish().meta({ description: 'The name of an event that ends a run.' });

export const createFlowBody = z.strictObject({
  name,
  goal,
  unknown,
  trigger: triggerBody.optional(),
  steps: steps.optional(),
  status: z
    .enum(['draft', 'active'])
    .default('draft')
    .meta({ description: '`active` activates the flow, as `POST /flows/{id}/activate` does.' }),
});
export type CreateFlowBody = z.output<typeof createFlowBody>;

/** An omitted field stays unchanged. */
export const changeFlowBody = z.strictObject({
  name: name.optional(),
  goal,
  unknown: unknown.meta({
    description: `${UNKNOWN} A change applies to messages that become unknown from then on.`,
  }),
  trigger: triggerBody.optional().meta({
    description:
      'An omitted field stays unchanged. One of `event`, `contact_list_id` and `segment_id` replaces the others.',
  }),
  steps: steps.optional(),
  status: z.enum(flowStatuses).optional().meta({
    description:
      '`active` activates a draft or resumes a paused flow, `paused` pauses it, `archived` archives it; `draft` cannot be set.',
  }),
  apply_to: z.enum(['new', 'waiting']).default('new').meta({
    description:
      'Who follows changed steps: contacts who enter from now on, or also runs under way whose present step still exists.',
  }),
});
export type ChangeFlowBody = z.output<typeof changeFlowBody>;

export const resentSchema = z.object({
  requeued_count: z.int().min(0).meta({ description: 'The number of messages that are sent again.' }),
});

export const activateFlowBody = z.strictObject({
  enter_existing: z.boolean().default(false).meta({
    description: 'Whether contacts who are already in the list or segment of the trigger enter, too.',
  }),
});
export type ActivateFlowBody = z.output<typeof activateFlowBody>;

export const resumeFlowBody = z.strictObject({
  overdue: z.enum(['run', 'exit']).default('run').meta({
    description:
      'Whether runs whose step came due during the pause, and messages that waited, continue (`run`) or end (`exit`).',
  }),
});
export type ResumeFlowBody = z.output<typeof resumeFlowBody>;

export const duplicateFlowBody = z.strictObject({
  name: name.optional().meta({ description: 'By default the name of the flow, with "(copy)".' }),
});
export type DuplicateFlowBody = z.output<typeof duplicateFlowBody>;

/** Fields that requests ignore, so that a client may send a flow back as it received it. */
export const flowReadOnlyFields = [
  'id',
  'account_id',
  'approval_state',
  'sent_count',
  'stop',
  'revision',
  'created_at',
  'updated_at',
  'templates',
];

/** What changes read-only fields of a flow. */
export const flowTwins: Twins = { templates: contentTwin('steps') };

export const flowParams = z.strictObject({ id: idParam });

export const listFlowsQuery = z.strictObject({
  ...wholeListQuery,
  ...summaryQuery,
  status: z
    .enum(flowStatuses)
    .optional()
    .meta({ description: 'Without it, all flows except archived ones.' }),
  name: z.string().max(MAX_NAME).optional().meta({ description: 'Only flows with exactly this name.' }),
  created_after: filterTime.optional(),
  created_before: filterTime.optional(),
});
export type ListFlowsQuery = z.output<typeof listFlowsQuery>;
