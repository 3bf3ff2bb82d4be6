import { z } from 'zod';

const MAX_LENGTH = 320;
export const MAX_RESULTS = 20;

export const foundTypes = [
  'contact',
  'message',
  'campaign',
  'flow',
  'flow_run',
  'template',
  'list',
  'segment',
  'suppression',
  'conversation',
  'import',
  'export',
  'validation_operation',
  'bulk_action',
  'webhook',
  'domain',
] as const;
export type FoundType = (typeof foundTypes)[number];

export const searchQuery = z.strictObject({
  q: z.string().trim().min(1).max(MAX_LENGTH).meta({
    description: 'An email address, a phone number, an id, or the beginning of a name. Case does not matter.',
  }),
});

export const foundSchema = z
  .object({
    type: z.enum(foundTypes),
    id: z.int(),
    title: z.string().nullable().meta({ description: 'A name, a subject or an address.' }),
    has_mail: z.boolean().meta({ description: 'Whether the title may be the subject of a stranger’s mail.' }),
    status: z.string().nullable().meta({ description: 'Null if the resource has none.' }),
    path: z.string().meta({
      description:
        'The path of the resource, such as `/v1/my/contacts/7`. A suppression can only be deleted there.',
    }),
  })
  .meta({ id: 'SearchResult' });
/** Whether a result has the subject of a stranger's mail. */
export const hasMail = (found: unknown): boolean => (found as Partial<Found> | null)?.has_mail === true;
export type Found = z.infer<typeof foundSchema>;
