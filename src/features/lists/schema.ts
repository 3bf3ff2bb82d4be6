import { z } from 'zod';
import { oneLine } from '../../platform/input/one-line.ts';
import { idParam, MAX_ID, pageQuery } from '../../platform/db/paging.ts';
import { bulkBody } from '../../platform/input/bulk-body.ts';

const MAX_NAME = 255;
const MAX_DESCRIPTION = 2_000;
const MAX_ADDRESS_LENGTH = 320;

const when = z.iso.datetime();

const VISIBLE =
  'Whether contacts in the list see it on their preference page, and can leave it there. Lists that the service ' +
  'fills with recipients of a campaign are not visible.';

export const listSchema = z
  .object({
    id: z.int(),
    account_id: z.int(),
    name: z.string(),
    description: z.string().nullable(),
    visible: z.boolean().meta({ description: VISIBLE }),
    contacts_count: z.int(),
    created_at: when,
    updated_at: when,
  })
  .meta({ id: 'ContactList' });
export type ContactList = z.infer<typeof listSchema>;

const name = oneLine(MAX_NAME).min(1).meta({ description: 'Two lists may have the same name.' });

const description = z.string().max(MAX_DESCRIPTION).nullish();
const visible = z.boolean().meta({ description: VISIBLE });

export const createListBody = z.strictObject({ name, description, visible: visible.default(true) });
export type CreateListBody = z.output<typeof createListBody>;

/** Fields that are left out do not change. */
export const changeListBody = z.strictObject({
  name: name.optional(),
  description,
  visible: visible.optional(),
});
export type ChangeListBody = z.output<typeof changeListBody>;

/** Fields that are ignored, so that a client can send a list back as it received it. */
export const listReadOnlyFields = ['id', 'account_id', 'contacts_count', 'created_at', 'updated_at'];

export const listParams = z.strictObject({ id: idParam });

export const listListsQuery = z.strictObject({
  ...pageQuery,
  name: z.string().max(MAX_NAME).optional().meta({ description: 'Only lists with exactly this name.' }),
});
export type ListListsQuery = z.output<typeof listListsQuery>;

const item = z.union([z.string().max(MAX_ADDRESS_LENGTH), z.int().min(1).max(MAX_ID)]);
export const bulkContactsBody = bulkBody(item, 'Email addresses and ids of contacts.');
export type BulkContactsBody = z.output<typeof bulkContactsBody>;

export const bulkStatuses = ['added', 'already_there', 'created', 'removed', 'not_found', 'invalid'] as const;
export type BulkStatus = (typeof bulkStatuses)[number];

export const bulkContactsResults = z.object({
  results: z.array(
    z.object({
      input: z.union([z.string(), z.int()]),
      status: z.enum(bulkStatuses).meta({
        description:
          '`created`: no contact had the address, so one was created and added. `not_found`: the id is not a contact ' +
          'of the brand, or the contact to remove is not in the list.',
      }),
      contact_id: z.int().nullable(),
      reason: z.string().nullable().meta({ description: 'Why an item is `invalid` or `not_found`.' }),
    }),
  ),
});
export type BulkResult = z.infer<typeof bulkContactsResults>['results'][number];
