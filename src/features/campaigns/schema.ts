import { z } from 'zod';
import { channels, messageStatuses } from '../../delivery/message.ts';
import { issueMessage } from '../../errors.ts';
import { oneLine } from '../../platform/input/one-line.ts';
import { filterTime } from '../../platform/db/filter-time.ts';
import { idParam, MAX_ID, pageQuery, summaryQuery } from '../../platform/db/paging.ts';
import { describeAs } from '../../platform/openapi/describe-as.ts';
import { templateAttributes, templateResource, templateSummary } from '../templates/schema.ts';
import { approvalStates, campaignStatuses, stopReasons } from './model.ts';
import { campaignOptions } from './options.ts';

const MAX_NAME = 255;
const MAX_EVENT = 64;
/** Lists or segments that one campaign may exclude. */
const MAX_EXCLUDED = 100;
/** Bytes of an object of the client as JSON. */
const MAX_DATA_BYTES = 16 * 1024;

const when = z.iso.datetime();
const jsonObject = z.record(z.string(), z.unknown());
const id = z.int().min(1).max(MAX_ID);

/** Why nothing of an active campaign is sent now. */
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

const count = z.int().min(0);

export const progressSchema = z
  .object({
    audience_count: count.meta({ description: 'Recipients, those who are skipped included.' }),
    sent_count: count.meta({ description: 'Accepted by a provider. It never falls.' }),
    failed_count: count.meta({ description: 'Refused or bounced at hand-over.' }),
    skipped_count: count,
    unknown_count: count.meta({
      description: 'Handed over when a process died, so that it is not known whether the provider has them.',
    }),
    canceled_count: count,
    remaining_count: count,
    waiting_for: z
      .object({
        reason: z.enum(waitingReasons),
        until: when.nullable().meta({
          description:
            'When the next of its messages is due, or is looked at again by a sender if a limit holds it, or when an A/B test is decided. Null if that is not known.',
        }),
      })
      .nullable()
      .meta({ description: 'Why nothing of an active campaign is sent now.' }),
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
    description: 'What the client gave, with `progress`, `outcome` and `stop` of the server.',
  });

const triggerSchema = z
  .object({
    id: z.int(),
    flow_id: z.int().nullable(),
    segment_id: z.int().nullable(),
    contact_list_id: z.int().nullable(),
    triggered_count: count.meta({ description: 'How often the campaign was sent.' }),
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
  created_at: when,
  updated_at: when,
  trigger: triggerSchema,
};

const TEMPLATES = 'The content of each variant of an A/B test, in their order; otherwise the template alone.';

/** A campaign in a list: its templates are without designs. */
export const campaignSummary = z
  .object({
    ...summaryFields,
    template: templateSummary,
    templates: z.array(templateSummary).meta({ description: TEMPLATES }),
  })
  .meta({ id: 'CampaignSummary' });
export type CampaignSummary = z.input<typeof campaignSummary>;
/** What a campaign has beside its content. */
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

/** An object of the client with one part that is parsed strictly; problems have dotted paths below it. */
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
    'Replaces what the client gave before. `options` says how the campaign is sent; other fields are kept as they ' +
    'are. `progress`, `outcome` and `stop` are of the server, and ignored here.',
});

const excluded = z.array(id).max(MAX_EXCLUDED);
const exclusions = z.strictObject({
  exclude_list_ids: excluded.optional(),
  exclude_segment_ids: excluded.optional(),
});

const triggerData = openObject(exclusions, (value) => {
  const known = Object.entries(value).filter(([key]) => Object.hasOwn(exclusions.shape, key));
  return Object.fromEntries(known);
});

const triggerAttributes = z
  .strictObject({
    event: oneLine(MAX_EVENT).nullish().meta({ description: 'Stored; it does not send a campaign.' }),
    contact_list_id: id.nullish(),
    segment_id: id.nullish().meta({ description: 'With a list, only contacts in both are sent to.' }),
    data: describeAs(triggerData, () => z.looseObject(exclusions.shape))
      .nullish()
      .meta({ description: 'Replaces the stored object. The two fields exclude contacts.' }),
  })
  .meta({ id: 'TriggerAttributes', description: 'Who a campaign is sent to.' });
export type TriggerAttributes = z.output<typeof triggerAttributes>;

const name = oneLine(MAX_NAME).min(1);

const changeable = {
  scheduled_at: filterTime.nullish().meta({
    description: 'A time that has passed means now. Null, while the campaign waits for its time, is a 422.',
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

/** A field left out stays as it is. */
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
        '`not_opened`: the copy is for those who got the campaign and have not opened it. They are put into a list of ' +
        'their own, in the background.',
    }),
});
export type DuplicateCampaignBody = z.output<typeof duplicateCampaignBody>;

/** A client may send a campaign back as it received it. */
export const campaignReadOnlyFields = [
  'id',
  'account_id',
  'approval_state',
  'sent_count',
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
  name: z.string().max(MAX_NAME).optional().meta({ description: 'Only campaigns of exactly this name.' }),
  created_after: filterTime.optional(),
  created_before: filterTime.optional(),
});
export type ListCampaignsQuery = z.output<typeof listCampaignsQuery>;

export const resentSchema = z.object({
  requeued_count: count.meta({ description: 'Recipients that are sent to again.' }),
});

export const recipientStates = ['sent', 'failed', 'skipped', 'unknown', 'canceled', 'remaining'] as const;
export type RecipientState = (typeof recipientStates)[number];

const failureCode = z.string().regex(/^[a-z_]{1,40}$/);

const yesOrNo = z.enum(['true', 'false']).transform((text) => text === 'true');

const recipientFilters = {
  state: z.enum(recipientStates).optional().meta({ description: 'As the counts of `data.progress` count.' }),
  reason: failureCode.optional().meta({
    description: 'The code in `failure`, such as `unsubscribed` of a skipped recipient.',
  }),
};

export const listRecipientsQuery = z.strictObject({
  ...pageQuery,
  ...recipientFilters,
  status: z.enum(messageStatuses).optional().meta({ description: 'The status of the message.' }),
  opened: yesOrNo.optional(),
  clicked: yesOrNo.optional(),
  format: z
    .enum(['json', 'csv'])
    .optional()
    .meta({ description: '`csv`: all that match, as a file. `Accept: text/csv` does the same.' }),
});

export const recipientSchema = z
  .object({
    id: z.int().meta({ description: 'Of the message.' }),
    contact_id: z.int().nullable(),
    to: z.string().nullable().meta({ description: 'Null if the contact was deleted.' }),
    state: z.enum(recipientStates),
    status: z.enum(messageStatuses),
    variant: z.int().nullable().meta({ description: 'Of an A/B test, counted from 0.' }),
    failure: z.object({ code: z.string(), message: z.string() }).nullable(),
    bounce: z.object({ type: z.string(), subtype: z.string(), diagnostic: z.string() }).nullable(),
    sent_at: when.nullable(),
    delivered_at: when.nullable(),
    opened_at: when.nullable(),
    clicked_at: when.nullable(),
    created_at: when,
  })
  .meta({ id: 'CampaignRecipient' });
export type Recipient = z.input<typeof recipientSchema>;

export const toListBody = z.strictObject({
  list_id: id.optional().meta({ description: 'A list of the brand.' }),
  name: name.optional().meta({ description: 'The name of a new list, instead of `list_id`.' }),
  ...recipientFilters,
  opened: z.boolean().optional(),
  clicked: z.boolean().optional(),
  not_opened: z.boolean().optional().meta({ description: 'True: like `opened: false`.' }),
});
export type ToListBody = z.output<typeof toListBody>;

export const fillSchema = z
  .object({
    id: z.int(),
    campaign_id: z.int(),
    list_id: z.int(),
    status: z.enum(['running', 'completed']),
    looked_at_count: count.meta({ description: 'Recipients that were looked at so far.' }),
    added_count: count.meta({ description: 'Contacts that were added to the list so far.' }),
    created_at: when,
    finished_at: when.nullable(),
  })
  .meta({ id: 'CampaignListFill' });
export type ListFill = z.input<typeof fillSchema>;

export const listFillsQuery = z.strictObject(pageQuery);
