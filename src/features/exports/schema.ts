import { z } from 'zod';
import { idParam, pageQuery } from '../../platform/db/paging.ts';
import { listContactsQuery } from '../contacts/schema.ts';
import { listMessagesQuery } from '../messages/schema.ts';
import { listSuppressionsQuery } from '../suppressions/schema.ts';

export const exportResources = ['contacts', 'suppressions', 'messages'] as const;
export type ExportResource = (typeof exportResources)[number];

export const exportStatuses = ['queued', 'processing', 'completed', 'failed', 'canceled'] as const;
export type ExportStatus = (typeof exportStatuses)[number];

/** Why an export failed. */
export const exportErrors = [
  'quota_exceeded',
  'timed_out',
  'too_slow',
  'invalid_filters',
  'internal_error',
] as const;
export type ExportError = (typeof exportErrors)[number];

const MAX_FILTERS = 20;
const MAX_FILTER_LENGTH = 1_000;

const when = z.iso.datetime();
const count = z.int().nonnegative();
const filterValues = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

export const exportSchema = z
  .object({
    id: z.int(),
    resource: z.enum(exportResources),
    status: z.enum(exportStatuses),
    total_rows: count.nullable().meta({ description: 'Null until the rows are counted.' }),
    processed_rows: count,
    url: z
      .url()
      .nullable()
      .meta({ description: 'The URL of the file, until it expires. Downloading it needs an API key.' }),
    filters: filterValues,
    created_at: when,
    started_at: when.nullable(),
    finished_at: when.nullable(),
    expires_at: when
      .nullable()
      .meta({ description: 'When the file is removed, 7 days after it is complete.' }),
    error: z
      .enum(exportErrors)
      .nullable()
      .meta({
        description:
          'Why the export failed. `quota_exceeded`: all files of the account together are too large. `timed_out`: it was not ' +
          'complete a day after its start. `too_slow`: the filters take too long to evaluate, even for a few rows at a ' +
          'time. `invalid_filters`: the list or segment that they name was deleted. `internal_error`: the service could not ' +
          'write it for a day.',
      }),
  })
  .meta({ id: 'Export' });
export type Export = z.infer<typeof exportSchema>;

export const createExportBody = z.strictObject({
  resource: z.enum(exportResources),
  filters: z
    .record(z.string(), z.union([z.string().max(MAX_FILTER_LENGTH), z.number(), z.boolean()]))
    .refine(
      (filters) => Object.keys(filters).length <= MAX_FILTERS,
      `must have at most ${MAX_FILTERS} filters`,
    )
    .default({})
    .meta({
      maxProperties: MAX_FILTERS,
      description: 'The query parameters of the list of the resource, except those for pages.',
    }),
});
export type CreateExportBody = z.output<typeof createExportBody>;

const withoutPages = { page: true, limit: true, after: true } as const;

/** The filters of each resource: the query parameters of its list, except those for pages. */
export const exportFilters = {
  contacts: listContactsQuery.omit(withoutPages),
  messages: listMessagesQuery.omit(withoutPages),
  suppressions: listSuppressionsQuery.omit(withoutPages),
};

/** The parsed filters that name other rows. */
export interface ParsedFilters {
  [name: string]: unknown;
  list_id?: number | undefined;
  segment_id?: number | undefined;
}

/** Returns the filters as in a query string, because the schemas parse texts. */
export function filterTexts(filters: CreateExportBody['filters']): Record<string, string> {
  return Object.fromEntries(Object.entries(filters).map(([name, value]) => [name, String(value)]));
}

export const exportParams = z.strictObject({ id: idParam });
export const listExportsQuery = z.strictObject({
  ...pageQuery,
  resource: z.enum(exportResources).optional(),
  status: z.enum(exportStatuses).optional(),
});
export type ListExportsQuery = z.output<typeof listExportsQuery>;
