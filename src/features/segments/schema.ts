import { z } from 'zod';
import { oneLine } from '../../platform/input/one-line.ts';
import { idParam, MAX_ID, pageQuery, wholeListQuery } from '../../platform/db/paging.ts';
import { revisionField } from '../../platform/db/revisions.ts';
import { contactResource } from '../contacts/schema.ts';
import { MAX_DEPTH, MAX_FILTERS, predicates } from './language.ts';
import { filterShape, parseFilters } from './parse.ts';
import { unrenderedProblems } from './unrendered.ts';

const MAX_NAME = 255;
/** Maximum size of the filters, in bytes of JSON. */
const MAX_FILTER_BYTES = 65_536;

const when = z.iso.datetime();

export const segmentFilters = z
  .array(filterShape)
  .max(MAX_FILTERS)
  .superRefine((given, context) => {
    const { problems } = parseFilters(given, null, { strict: true });
    for (const { path, message } of [...problems, ...unrenderedProblems(given)]) {
      context.addIssue({ code: 'custom', path: [...path], message });
    }
    if (Buffer.byteLength(JSON.stringify(given)) > MAX_FILTER_BYTES) {
      context.addIssue({ code: 'custom', message: `must have at most ${MAX_FILTER_BYTES} bytes as JSON` });
    }
  })
  .meta({
    description:
      `A contact must match all of them. An empty array selects every contact. At most ${MAX_FILTERS} filters and ${MAX_DEPTH} ` +
      'levels, including those of referenced segments. The guide to segments describes the names and predicates.',
    examples: [[{ name: 'data.plan', predicate: 'eq', value: 'pro' }]],
  });

export const segmentSchema = z
  .object({
    id: z.int(),
    account_id: z.int(),
    name: z.string(),
    filters: z.array(
      z.object({
        name: z.string(),
        predicate: z.enum(predicates),
        value: z.unknown().meta({ description: 'Null if the predicate needs no value.' }),
      }),
    ),
    revision: revisionField,
    created_at: when,
    updated_at: when,
  })
  .meta({ id: 'Segment' });
export type Segment = z.infer<typeof segmentSchema>;

const name = oneLine(MAX_NAME).min(1).meta({ description: 'Two segments may have the same name.' });

export const createSegmentBody = z.strictObject({ name, filters: segmentFilters.default([]) });
export type CreateSegmentBody = z.output<typeof createSegmentBody>;

/** Fields that are left out do not change. */
export const changeSegmentBody = z.strictObject({
  name: name.optional(),
  filters: segmentFilters.optional(),
});
export type ChangeSegmentBody = z.output<typeof changeSegmentBody>;

/** Fields that are ignored, so that a client can send a segment back as it received it. */
export const segmentReadOnlyFields = ['id', 'account_id', 'revision', 'created_at', 'updated_at'];

export const segmentParams = z.strictObject({ id: idParam });
export const listSegmentsQuery = z.strictObject(wholeListQuery);
export const listMembersQuery = z.strictObject(pageQuery);

export const previewBody = z.strictObject({
  filters: segmentFilters,
  contact_id: z.int().positive().max(MAX_ID).optional().meta({
    description: 'A contact of the brand: the response says which of the filters it matches.',
  }),
});
export type PreviewBody = z.output<typeof previewBody>;

export const contactMatch = z.object({
  contact_id: z.int(),
  matches: z.boolean().meta({ description: 'Whether the contact matches all filters.' }),
  filters: z
    .array(
      z.object({
        path: z.string().meta({ examples: ['filters.2.value.0'] }),
        matches: z.boolean(),
      }),
    )
    .meta({ description: 'Each filter, with those inside groups.' }),
});
export type ContactMatch = z.infer<typeof contactMatch>;

const filterWarning = z
  .object({
    path: z.string().meta({ description: 'The filter.', examples: ['filters.2.value.0'] }),
    message: z.string(),
  })
  .meta({ id: 'FilterWarning' });
export type FilterWarning = z.infer<typeof filterWarning>;

export const previewSchema = z
  .object({
    count: z.int().nullable().meta({
      description: 'The number of contacts that match all filters. Null if the count takes too long.',
    }),
    sample: z.array(contactResource).meta({ description: 'The newest of these contacts.' }),
    sample_out: z.array(contactResource).meta({
      description:
        'The newest of the other contacts, at most ten, among the newest 1,000 contacts of the brand. Empty if the count ' +
        'takes too long.',
    }),
    match: contactMatch
      .nullable()
      .meta({ description: 'For `contact_id`. Null without one, or if it takes too long.' }),
    warnings: z.array(filterWarning).meta({
      description:
        'Filters that ask values in `data` for a time, although some values among the newest 1,000 contacts are none. Empty if ' +
        'they take too long to find.',
    }),
    slow_because: z.string().nullable().meta({
      description: 'Why there is no count, and which filter takes the most time. Null if there is a count.',
    }),
  })
  .meta({ id: 'SegmentPreview' });
export type SegmentPreview = z.infer<typeof previewSchema>;

export const filterNamesSchema = z
  .object({
    data: z
      .array(
        z.object({
          path: z.string().meta({
            description: 'The keys, such as `address.city`. A dot in a key is written as `\\.`.',
            examples: ['plan'],
          }),
          types: z.array(z.enum(['text', 'number', 'boolean', 'date', 'time'])).meta({
            description:
              'The types of its values, or of the elements of arrays. A text that filters can read as a number or a time counts as one.',
          }),
        }),
      )
      .meta({
        description:
          'Keys in `data` of the newest 500 contacts, the most frequent first: at most 200, of three levels.',
      }),
    events: z.array(z.string()).meta({ description: 'The names of all tracked events.' }),
  })
  .meta({ id: 'FilterNames' });
export type FilterNames = z.infer<typeof filterNamesSchema>;
