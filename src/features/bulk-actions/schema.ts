import { z } from 'zod';
import { idParam, MAX_ID, pageQuery } from '../../platform/db/paging.ts';
import { listContactsQuery } from '../contacts/schema.ts';
import { conversationFilter } from '../inbox/index.ts';
import { previewBody } from '../segments/schema.ts';

export const bulkActionKinds = ['delete', 'add_to_list', 'remove_from_list', 'unsubscribe'] as const;
export type BulkActionKind = (typeof bulkActionKinds)[number];

export const conversationActionKinds = ['delete'] as const;
/** The actions as rows have them. */
export type StoredKind = BulkActionKind | 'delete_conversations';

export const bulkActionStatuses = [
  'queued',
  'counting',
  'running',
  'completed',
  'canceled',
  'failed',
] as const;
export type BulkActionStatus = (typeof bulkActionStatuses)[number];

/** Why a bulk action failed. */
export const bulkActionErrors = ['list_deleted', 'too_slow', 'internal_error'] as const;
export type BulkActionError = (typeof bulkActionErrors)[number];

const id = z.int().min(1).max(MAX_ID);
const ofList = listContactsQuery.shape;

const bulkFilter = z
  .strictObject({
    all: z
      .literal(true)
      .optional()
      .meta({ description: 'Every contact of the brand, unless other filters are given, too.' }),
    email: ofList.email,
    phone: ofList.phone,
    list_id: id.optional().meta({ description: 'Members of this list.' }),
    segment_id: id.optional().meta({ description: 'Members of this segment, as its filters are now.' }),
    subscribed: z
      .boolean()
      .optional()
      .meta({ description: 'Contacts with a subscribed channel (`true`), or without one (`false`).' }),
    verification_status: ofList.verification_status,
    source: ofList.source,
    created_after: ofList.created_after,
    created_before: ofList.created_before,
    search: ofList.search,
    filters: previewBody.shape.filters.optional(),
  })
  .superRefine((filter, context) => {
    if (Object.values(filter).some((value) => value !== undefined)) return;
    context.addIssue({
      code: 'custom',
      message: 'must have a filter; for every contact, send {"all": true}',
    });
  })
  .meta({
    id: 'BulkFilter',
    minProperties: 1,
    description:
      'Filters of `GET /contacts`, and `filters` as segments have them. A contact must match all of them.',
  });
export type BulkFilter = z.output<typeof bulkFilter>;

const needsList = (action: BulkActionKind): boolean =>
  action === 'add_to_list' || action === 'remove_from_list';

export const createBulkActionBody = z
  .strictObject({
    action: z.enum(bulkActionKinds),
    list_id: id.optional().meta({
      description: 'The list of `add_to_list` and `remove_from_list`. Other actions have none.',
    }),
    filter: bulkFilter,
    dry_run: z.boolean().default(false).meta({ description: 'Only counts the contacts.' }),
  })
  .superRefine(({ action, list_id: listId }, context) => {
    if (needsList(action) === (listId !== undefined)) return;
    const message = needsList(action) ? `is required for ${action}` : `must be left out for ${action}`;
    context.addIssue({ code: 'custom', path: ['list_id'], message });
  })
  .meta({
    if: { properties: { action: { enum: bulkActionKinds.filter(needsList) } } },
    then: { required: ['list_id'] },
    else: { not: { required: ['list_id'] } },
  });
export type CreateBulkActionBody = z.output<typeof createBulkActionBody>;

export const createConversationActionBody = z.strictObject({
  action: z.enum(conversationActionKinds),
  filter: conversationFilter,
  dry_run: z.boolean().default(false).meta({ description: 'Only counts the conversations.' }),
});
export type CreateConversationActionBody = z.output<typeof createConversationActionBody>;

const when = z.iso.datetime();
const count = z.int().nonnegative();

export const bulkActionSchema = z
  .object({
    id: z.int(),
    action: z.enum(bulkActionKinds),
    list_id: z.int().nullable(),
    filter: z.record(z.string(), z.unknown()).meta({
      description:
        'As the request had it. After the action has ended, `(deleted)` takes the place of addresses of deleted contacts.',
    }),
    dry_run: z.boolean(),
    status: z.enum(bulkActionStatuses).meta({
      description:
        '`queued`: waits for earlier bulk actions of the account. `counting`: counts its contacts.',
    }),
    error: z
      .enum(bulkActionErrors)
      .nullable()
      .meta({
        description:
          'Why the action failed. What it did until then stays. `list_deleted`: a list that it names was deleted. ' +
          '`too_slow`: the filters take too long to evaluate, even for a few contacts at a time.',
      }),
    total_count: count
      .nullable()
      .meta({ description: 'The number of contacts that match. Null until they are counted.' }),
    processed_count: count,
    changed_count: count.meta({
      description:
        'Contacts that were deleted, unsubscribed, or added to or removed from the list. The others were so already.',
    }),
    failed_count: count.meta({ description: 'Contacts that could not be changed.' }),
    created_at: when,
    started_at: when.nullable(),
    finished_at: when.nullable(),
  })
  .meta({ id: 'BulkAction' });
export type BulkAction = z.infer<typeof bulkActionSchema>;

export const conversationActionSchema = bulkActionSchema
  .omit({ list_id: true })
  .extend({
    action: z.enum(conversationActionKinds),
    error: z
      .enum(['too_slow', 'internal_error'])
      .nullable()
      .meta({
        description:
          'Why the action failed. What it did until then stays. `too_slow`: the database takes too long, even for a few ' +
          'conversations at a time.',
      }),
    total_count: count
      .nullable()
      .meta({ description: 'The number of conversations that match. Null until they are counted.' }),
    changed_count: count.meta({ description: 'Conversations that were deleted.' }),
    failed_count: count.meta({ description: 'Conversations that could not be deleted.' }),
    status: z.enum(bulkActionStatuses).meta({
      description:
        '`queued`: waits for earlier bulk actions of the account. `counting`: counts its conversations.',
    }),
  })
  .meta({ id: 'ConversationBulkAction' });
export type ConversationAction = z.infer<typeof conversationActionSchema>;

export const bulkActionParams = z.strictObject({ id: idParam });
export const listBulkActionsQuery = z.strictObject({
  ...pageQuery,
  action: z.enum(bulkActionKinds).optional(),
  status: z.enum(bulkActionStatuses).optional(),
});
export const listConversationActionsQuery = z.strictObject({
  ...pageQuery,
  status: z.enum(bulkActionStatuses).optional(),
});
export type ListBulkActionsQuery = z.output<typeof listBulkActionsQuery>;
