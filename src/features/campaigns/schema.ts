import { z } from 'zod';
import { channels } from '../../delivery/terms/message.ts';
import { issueMessage } from '../../errors.ts';
import { oneLine } from '../../platform/input/one-line.ts';
import { filterTime } from '../../platform/db/filter-time.ts';
import { idParam, MAX_ID, pageQuery, summaryQuery } from '../../platform/db/paging.ts';
import { revisionField } from '../../platform/db/revisions.ts';
import { describeAs } from '../../platform/openapi/describe-as.ts';
import { segmentFilters } from '../segments/schema.ts';
import {
  checkedProblems,
  templateAttributes,
  templateResource,
  templateSummary,
} from '../templates/schema.ts';
import { approvalStates, campaignStatuses, stopReasons } from './model.ts';
import { campaignOptions } from './options.ts';

const MAX_NAME = 255;
const MAX_EVENT = 64;
/** Maximum number of lists, and of segments, that one campaign may exclude. */
const MAX_EXCLUDED = 100;
/** Maximum size of an object that the client stores, as JSON, in bytes. */
const MAX_DATA_BYTES = 16 * 1024;

export const when = z.iso.datetime();
const jsonObject = z.record(z.string(), z.unknown());
export const id = z.int().min(1).max(MAX_ID);

/** Why no messages of an active campaign are being sent now. */
export const waitingReasons = [
  'schedule',
  'approval',
  'snapshot',
  'allowance',
  'throttle',
  'provider',
  'retries',
  'local_time',
  'ab_winner',
  'domain_unverified',
  'account_paused',
  'wallet',
  'spend_cap',
  'sandbox',
] as const;
export type WaitingReason = (typeof waitingReasons)[number];

export const count = z.int().min(0);

export const progressSchema = z
  .object({
    audience_count: count.meta({ description: 'All recipients, including skipped ones.' }),
    sent_count: count.meta({ description: 'Messages that a provider accepted. The number never decreases.' }),
    failed_count: count.meta({ description: 'Messages that were refused, or bounced at hand-over.' }),
    skipped_count: count,
    unknown_count: count.meta({
      description:
        'Messages that were being handed over when a process died, so it is unknown whether the provider has them.',
    }),
    canceled_count: count,
    remaining_count: count,
    waiting_for: z
      .object({
        reason: z.enum(waitingReasons),
        until: when.nullable().meta({
          description:
            'When the next message is due, a sender checks a limit again, or the A/B test is decided. Null if unknown.',
        }),
      })
      .nullable()
      .meta({ description: 'Why no messages of an active campaign are being sent now.' }),
  })
  .meta({ id: 'CampaignProgress' });
export type CampaignProgress = z.input<typeof progressSchema>;

const stopSchema = z
  .object({
    reason: z.enum(stopReasons),
    rate: z.number().nullable(),
    threshold: z.number().nullable(),
    at: when,
  })
  .meta({ id: 'CampaignStop' });

const dataSchema = z
  .looseObject({
    options: campaignOptions.partial(),
    progress: progressSchema,
    outcome: z.enum(['completed', 'canceled', 'failed']).nullable(),
    stop: stopSchema.nullable().meta({ description: 'Why the service paused the campaign.' }),
  })
  .meta({
    id: 'CampaignData',
    description:
      'The fields that the client stored, and `progress`, `outcome` and `stop`, which the service sets.',
  });

const triggerSchema = z
  .object({
    id: z.int(),
    flow_id: z.int().nullable(),
    segment_id: z.int().nullable(),
    contact_list_id: z.int().nullable(),
    triggered_count: count.meta({ description: 'How many times the campaign was sent.' }),
    event: z.string().nullable().meta({ description: 'Stored; it does not send a campaign.' }),
    data: jsonObject,
    last_triggered_at: when.nullable(),
    created_at: when,
    updated_at: when,
  })
  .meta({ id: 'CampaignTrigger' });

const summaryFields = {
  id: z.int(),
  account_id: z.int(),
  status: z.enum(campaignStatuses),
  approval_state: z.enum(approvalStates),
  channel: z.enum(channels),
  name: z.string(),
  data: dataSchema,
  scheduled_at: when.nullable(),
  sent_count: count,
  revision: revisionField,
  created_at: when,
  updated_at: when,
  trigger: triggerSchema,
};

const TEMPLATES = 'The content of each variant of an A/B test, in order; without a test, only the template.';

/** A campaign in a list: its templates are without designs. */
export const campaignSummary = z
  .object({
    ...summaryFields,
    template: templateSummary,
    templates: z.array(templateSummary).meta({ description: TEMPLATES }),
  })
  .meta({ id: 'CampaignSummary' });
export type CampaignSummary = z.input<typeof campaignSummary>;
/** The fields of a campaign without its content. */
export type CampaignFields = Omit<CampaignSummary, 'template' | 'templates'>;

export const campaignSchema = z
  .object({
    ...summaryFields,
    template: templateResource,
    templates: z.array(templateResource).meta({ description: TEMPLATES }),
  })
  .meta({ id: 'Campaign' });
export type Campaign = z.input<typeof campaignSchema>;

function withinBytes(value: unknown): boolean {
  return Buffer.byteLength(JSON.stringify(value)) <= MAX_DATA_BYTES;
}
const TOO_LARGE = `must have at most ${MAX_DATA_BYTES} bytes as JSON`;

/** A schema of an object with any fields, one part of which is parsed strictly. Errors have dotted paths below it. */
function openObject<Part extends z.ZodObject>(part: Part, split: (value: object) => Record<string, unknown>) {
  return z.record(z.string(), z.unknown()).superRefine((value, context) => {
    if (!withinBytes(value)) context.addIssue({ code: 'custom', message: TOO_LARGE });
    const parsed = part.safeParse(split(value), { error: issueMessage });
    for (const issue of parsed.error?.issues ?? []) {
      const paths =
        issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
      const message = issue.code === 'unrecognized_keys' ? 'is not a known field' : issue.message;
      for (const path of paths) context.addIssue({ code: 'custom', path, message });
    }
  });
}

const knownData = z.strictObject({ options: campaignOptions.nullish() });

const readableData = openObject(knownData, (value) =>
  'options' in value ? { options: value.options } : {},
).transform((value) => ({ ...value, options: knownData.parse({ options: value.options }).options ?? {} }));

const data = describeAs(readableData, () => z.looseObject(knownData.shape)).meta({
  description:
    'Replaces the stored fields. `options` defines how the campaign is sent; other fields are stored as they ' +
    'are. `progress`, `outcome` and `stop` are set by the service and ignored here.',
});

const excluded = z.array(id).max(MAX_EXCLUDED);
const knownTriggerData = z.strictObject({
  exclude_list_ids: excluded.optional(),
  exclude_segment_ids: excluded.optional(),
  filters: segmentFilters.optional().meta({
    description:
      'A contact must match all of them, besides being in the list and in the segment if these are given. The names and ' +
      'predicates are those of segments. An empty array has no effect. A key of this name that was stored before filters ' +
      'existed has none either, and is shown as `inert_filters`.',
  }),
});

const triggerData = openObject(knownTriggerData, (value) => {
  const known = Object.entries(value).filter(([key]) => Object.hasOwn(knownTriggerData.shape, key));
  return Object.fromEntries(known);
});

export const triggerAttributes = z
  .strictObject({
    event: oneLine(MAX_EVENT).nullish().meta({ description: 'Stored; it does not send a campaign.' }),
    contact_list_id: id.nullish(),
    segment_id: id
      .nullish()
      .meta({ description: 'Together with a list, only contacts in both get the campaign.' }),
    data: describeAs(triggerData, () => z.looseObject(knownTriggerData.shape))
      .nullish()
      .meta({ description: 'Replaces the stored object. Other fields than these are stored as they are.' }),
  })
  .meta({ id: 'TriggerAttributes', description: 'The audience of a campaign.' });
export type TriggerAttributes = z.output<typeof triggerAttributes>;

export const name = oneLine(MAX_NAME).min(1);

const changeable = {
  scheduled_at: filterTime.nullish().meta({
    description: 'A time in the past means now. Null is a 422 while the campaign waits for its time.',
  }),
  data: data.optional(),
  trigger_attributes: triggerAttributes.optional(),
  template_attributes: templateAttributes.optional(),
};

export const createCampaignBody = z.strictObject({
  name,
  channel: z.enum(channels).default('email'),
  status: z
    .enum(['draft', 'active'])
    .default('draft')
    .meta({ description: '`active` sends the campaign, as `POST /campaigns/{id}/send` does.' }),
  ...changeable,
});
export type CreateCampaignBody = z.output<typeof createCampaignBody>;

/** An omitted field stays unchanged. */
export const changeCampaignBody = z.strictObject({
  name: name.optional(),
  channel: z.enum(channels).optional(),
  status: z.enum(campaignStatuses).optional().meta({
    description:
      '`active` sends a draft or resumes a paused campaign; `paused` pauses it; `completed` cannot be set.',
  }),
  ...changeable,
});
export type ChangeCampaignBody = z.output<typeof changeCampaignBody>;

/** Changes that are not saved. */
export const checkCampaignBody = changeCampaignBody.omit({ status: true });
export type CheckCampaignBody = z.output<typeof checkCampaignBody>;

export const campaignCheck = z
  .object({
    problems: checkedProblems,
    errors: z.record(z.string(), z.array(z.string())).meta({ description: '`problems`, by field.' }),
    sender: z
      .string()
      .nullable()
      .meta({
        description:
          'The sender: an address, with its name if it has one, or the sender of an SMS. If an email names no ' +
          'sender, that is the default one. Null if the provider of SMS decides, or while changes cannot be read.',
        examples: ['"Acme" <hello@acme.example>'],
      }),
    needs_approval: z.boolean().meta({ description: 'Whether it waits for an operator once it is sent.' }),
  })
  .meta({ id: 'CampaignCheck' });
export type CampaignCheck = z.input<typeof campaignCheck>;

export const sendCampaignBody = z.strictObject({
  trigger_attributes: changeable.trigger_attributes,
  template_attributes: changeable.template_attributes,
});
export type SendCampaignBody = z.output<typeof sendCampaignBody>;

export const duplicateCampaignBody = z.strictObject({
  name: name.optional().meta({ description: 'By default the name of the campaign, with "(copy)".' }),
  audience: z
    .enum(['same', 'not_opened'])
    .default('same')
    .meta({
      description:
        '`not_opened`: the copy has `trigger.data.filters` for the contacts who were sent the campaign and have not opened it ' +
        'when the copy is sent. It keeps the list, the segment and the exclusions, so it is not for those who have left the ' +
        'list since. A 422 if its opens were not recorded.',
    }),
});
export type DuplicateCampaignBody = z.output<typeof duplicateCampaignBody>;

/** Fields that requests ignore, so that a client may send a campaign back as it received it. */
export const campaignReadOnlyFields = [
  'id',
  'account_id',
  'approval_state',
  'sent_count',
  'revision',
  'created_at',
  'updated_at',
  'trigger',
  'template',
  'templates',
];

export const campaignParams = z.strictObject({ id: idParam });

export const listCampaignsQuery = z.strictObject({
  ...pageQuery,
  ...summaryQuery,
  status: z.enum(campaignStatuses).optional(),
  channel: z.enum(channels).optional(),
  name: z.string().max(MAX_NAME).optional().meta({ description: 'Only campaigns with exactly this name.' }),
  created_after: filterTime.optional(),
  created_before: filterTime.optional(),
});
export type ListCampaignsQuery = z.output<typeof listCampaignsQuery>;

export const resentSchema = z.object({
  requeued_count: count.meta({ description: 'The number of recipients that are sent to again.' }),
});
