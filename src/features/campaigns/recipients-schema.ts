import { z } from 'zod';
import { messageStatuses } from '../../delivery/terms/message.ts';
import { flagFilter, pageQuery } from '../../platform/db/paging.ts';
import { byStrangers } from '../../platform/openapi/strangers-texts.ts';
import { count, id, name, when } from './schema.ts';

export const recipientStates = ['sent', 'failed', 'skipped', 'unknown', 'canceled', 'remaining'] as const;

export type RecipientState = (typeof recipientStates)[number];

const failureCode = z.string().regex(/^[a-z_]{1,40}$/, 'must be a code such as unsubscribed');

const recipientFilters = {
  state: z
    .enum(recipientStates)
    .optional()
    .meta({ description: 'The state, as in the counts of `data.progress`.' }),
  reason: failureCode.optional().meta({
    description: 'The code in `failure`, such as `unsubscribed` for a skipped recipient.',
  }),
};

export const listRecipientsQuery = z.strictObject({
  ...pageQuery,
  ...recipientFilters,
  status: z.enum(messageStatuses).optional().meta({ description: 'The status of the message.' }),
  opened: flagFilter,
  clicked: flagFilter,
  format: z
    .enum(['json', 'csv'])
    .optional()
    .meta({ description: '`csv` returns all matching recipients as a file, like `Accept: text/csv`.' }),
});

export const recipientSchema = z
  .object({
    id: z.int().meta({ description: 'The id of the message.' }),
    contact_id: z.int().nullable(),
    to: z.string().nullable().meta({ description: 'Null if the contact has been deleted.' }),
    state: z.enum(recipientStates),
    status: z.enum(messageStatuses),
    variant: z.int().nullable().meta({ description: 'The variant of an A/B test, counted from 0.' }),
    failure: z.object({ code: z.string(), message: byStrangers(z.string()) }).nullable(),
    bounce: z
      .object({ type: z.string(), subtype: z.string(), diagnostic: byStrangers(z.string()) })
      .nullable(),
    sent_at: when.nullable(),
    delivered_at: when.nullable(),
    opened_at: when.nullable(),
    clicked_at: when.nullable(),
    created_at: when,
  })
  .meta({ id: 'CampaignRecipient' });

export type Recipient = z.input<typeof recipientSchema>;

export const toListBody = z.strictObject({
  list_id: id.optional().meta({ description: 'An existing list of the brand.' }),
  name: name.optional().meta({
    description:
      'The name of a new list, instead of `list_id`. Its contacts do not see it on their preference page.',
  }),
  ...recipientFilters,
  opened: z.boolean().optional(),
  clicked: z.boolean().optional(),
  not_opened: z.boolean().optional().meta({ description: '`true` is the same as `opened: false`.' }),
});

export type ToListBody = z.output<typeof toListBody>;

export const fillSchema = z
  .object({
    id: z.int(),
    campaign_id: z.int(),
    list_id: z.int(),
    status: z.enum(['running', 'completed']),
    looked_at_count: count.meta({ description: 'Recipients examined so far.' }),
    added_count: count.meta({ description: 'Contacts added to the list so far.' }),
    created_at: when,
    finished_at: when.nullable(),
  })
  .meta({ id: 'CampaignListFill' });

export type ListFill = z.input<typeof fillSchema>;

export const listFillsQuery = z.strictObject(pageQuery);
