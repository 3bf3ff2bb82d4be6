import { z } from 'zod';
import { oneLine } from '../../platform/input/one-line.ts';
import { idParam, pageQuery, wholeListQuery } from '../../platform/db/paging.ts';
import { contactResource } from '../contacts/schema.ts';
import { MAX_DEPTH, MAX_FILTERS, predicates } from './language.ts';
import { filterShape, parseFilters } from './parse.ts';

const MAX_NAME = 255;
/** Bytes of the filters as JSON. */
const MAX_FILTER_BYTES = 65_536;

const when = z.iso.datetime();

const filters = z
  .array(filterShape)
  .max(MAX_FILTERS)
  .superRefine((given, context) => {
    for (const { path, message } of parseFilters(given).problems) {
      context.addIssue({ code: 'custom', path: [...path], message });
    }
    if (Buffer.byteLength(JSON.stringify(given)) > MAX_FILTER_BYTES) {
      context.addIssue({ code: 'custom', message: `must have at most ${MAX_FILTER_BYTES} bytes as JSON` });
    }
  })
  .meta({
    description:
      `All of them must hold; an empty array selects every contact. At most ${MAX_FILTERS} in all and ${MAX_DEPTH} ` +
      'levels, those of referenced segments included. The guide to segments describes the names and predicates.',
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
        value: z.unknown().meta({ description: 'Null if the predicate needs none.' }),
      }),
    ),
    created_at: when,
    updated_at: when,
  })
  .meta({ id: 'Segment' });
export type Segment = z.infer<typeof segmentSchema>;

const name = oneLine(MAX_NAME).min(1).meta({ description: 'Two segments may have the same name.' });

export const createSegmentBody = z.strictObject({ name, filters: filters.default([]) });
export type CreateSegmentBody = z.output<typeof createSegmentBody>;

/** A field left out stays as it is. */
export const changeSegmentBody = z.strictObject({ name: name.optional(), filters: filters.optional() });
export type ChangeSegmentBody = z.output<typeof changeSegmentBody>;

/** A client may send a segment back as it received it. */
export const segmentReadOnlyFields = ['id', 'account_id', 'created_at', 'updated_at'];

export const segmentParams = z.strictObject({ id: idParam });
export const listSegmentsQuery = z.strictObject(wholeListQuery);
export const listMembersQuery = z.strictObject(pageQuery);

export const previewBody = z.strictObject({ filters });

export const previewSchema = z
  .object({
    count: z
      .int()
      .nullable()
      .meta({ description: 'Contacts for which all filters hold; null if it takes too long.' }),
    sample: z.array(contactResource).meta({ description: 'The newest of them.' }),
    slow_because: z
      .string()
      .nullable()
      .meta({ description: 'Why there is no count, and which filter takes the most time.' }),
  })
  .meta({ id: 'SegmentPreview' });
export type SegmentPreview = z.infer<typeof previewSchema>;
