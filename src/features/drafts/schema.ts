import { z } from 'zod';
import { idParam, pageQuery } from '../../platform/db/paging.ts';
import { revisionField } from '../../platform/db/revisions.ts';

/** What can have a draft, as in the paths of the API. */
export const draftKinds = ['templates', 'campaigns', 'flows', 'segments'] as const;
export type DraftKind = (typeof draftKinds)[number];

const MAX_BASE = 100;

const when = z.iso.datetime();

const person = z.object({ id: z.int(), name: z.string() });

const shared = {
  id: z.int(),
  kind: z.enum(draftKinds),
  resource_id: z.int(),
  base: z.string().meta({
    description:
      'The ETag of the resource from which the draft began. If the resource has another one now, it has changed since.',
  }),
  revision: revisionField,
  updated_by: person
    .nullable()
    .meta({ description: 'The user who saved the draft last. Null for an API key.' }),
  created_at: when,
  updated_at: when,
};

export const draftSummarySchema = z.object(shared).meta({ id: 'DraftSummary' });
export type DraftSummary = z.infer<typeof draftSummarySchema>;

const content = z.record(z.string(), z.unknown()).meta({
  description:
    'What the editor sends to the resource when the draft is published. The service stores it as it is, except that ' +
    'headers of webhook steps are masked: it may be unfinished, and is checked by the request that changes the resource.',
});

const BASE_CONTENT =
  'What was live when the draft began, in the form of `content`. With it, an editor sees whether more than the status of ' +
  'the resource has changed since, and can merge what others have published.';

export type DraftContent = z.output<typeof content>;

export const draftSchema = z
  .object({
    ...shared,
    content,
    base_content: content.nullable().meta({ description: BASE_CONTENT }),
    resource_changed_by: person.nullable().meta({
      description:
        'The user whose PATCH changed the resource last. Null if a program did, or if it is not known.',
    }),
  })
  .meta({ id: 'Draft' });
export type Draft = z.infer<typeof draftSchema>;

export const putDraftBody = z.strictObject({
  content,
  base: z
    .string()
    .min(1)
    .max(MAX_BASE)
    .meta({ description: 'The ETag of the resource from which the draft began.', examples: ['"7"'] }),
  base_content: content
    .nullable()
    .optional()
    .meta({ description: `${BASE_CONTENT} Without it, that of the same \`base\` is kept.` }),
});
export type PutDraftBody = z.output<typeof putDraftBody>;

/** Fields that are ignored, so that a client can send a draft back as it received it. */
export const draftReadOnlyFields = [
  'id',
  'kind',
  'resource_id',
  'revision',
  'updated_by',
  'resource_changed_by',
  'created_at',
  'updated_at',
];

export const draftParams = z.strictObject({ kind: z.enum(draftKinds), resource_id: idParam });

export const listDraftsQuery = z.strictObject({ ...pageQuery, kind: z.enum(draftKinds).optional() });
