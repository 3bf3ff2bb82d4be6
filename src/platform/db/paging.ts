import { z } from 'zod';
import type { Queryable } from './queryable.ts';

const DEFAULT_LIMIT = 25;
const MAX_LIMIT = 200;

/** Lists with up to this many rows are counted exactly. */
export const EXACT_UP_TO = 100_000;

/** The largest integer in a path, a query string or `X-Brand-Id`: 15 digits, below `Number.MAX_SAFE_INTEGER`. */
export const MAX_ID = 999_999_999_999_999;
/** The integers from 1 to {@link MAX_ID} as text. */
export const ID_DIGITS = /^[1-9][0-9]{0,14}$/;

/** How OpenAPI describes such an integer. */
const idJson = { type: 'integer', minimum: 1, maximum: MAX_ID, pattern: undefined } as const;

/** An id in a path. Text that cannot be an id causes a 404. */
export const idParam = z
  .string()
  .regex(ID_DIGITS)
  .transform(Number)
  .meta({ ...idJson });

const positiveText = z.string().regex(ID_DIGITS, `must be an integer from 1 to ${MAX_ID}`).transform(Number);

/** A positive integer in a query string; in OpenAPI an integer. */
const positive = (description: string) => positiveText.meta({ ...idJson, description });

/** A filter by an id in a query string. Text that cannot be an id is refused. */
export const idFilter = positiveText.optional().meta({ ...idJson });

/** The query parameters of a list. Spread them into its schema: `z.strictObject({ ...pageQuery, status: … })`. */
export const pageQuery = {
  page: positive('Page number, starting at 1. A page has 25 items unless `limit` is given.').optional(),
  limit: positive('Items per page; 25 by default. Values above 200 count as 200.').optional(),
  after: positive(
    'Return only items older than the item with this id. The `next` link of the `Link` header uses it.',
  ).optional(),
};

/** A parameter of a query string that is on or off. */
export const flagFilter = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .optional();

/** The query parameter of lists whose items have contents. */
export const summaryQuery = {
  summary: flagFilter.meta({
    description:
      '`true`: leave out `body` and `design` of contents. A page of many large contents is long, and an account ' +
      'reads two such pages at once.',
  }),
};

/** Page sizes of a list that is short enough to be returned whole by default. */
export const wholeList = { limit: 1_000, max: 1_000 };

/** The query parameters of a {@link wholeList}. */
export const wholeListQuery = {
  ...pageQuery,
  page: positive(
    'Page number, starting at 1. The first page has all items unless `limit` is given.',
  ).optional(),
  limit: positive('Items per page; 1,000 by default and at most.').optional(),
};

export interface PageQuery {
  page?: number | undefined;
  limit?: number | undefined;
  after?: number | undefined;
}

/** The part of a list to read: the rows with `id < after` if `after` is set, otherwise those from `offset` on. */
export interface Page {
  number: number;
  limit: number;
  offset: number;
  /** Only rows with a smaller id. */
  after: number | null;
}

/**
 * @param query as parsed by {@link pageQuery}
 * @param sizes {@link wholeList} for a list that is returned whole by default
 */
export function pageOf(
  query: PageQuery,
  sizes: { limit: number; max: number } = { limit: DEFAULT_LIMIT, max: MAX_LIMIT },
): Page {
  const limit = Math.min(query.limit ?? sizes.limit, sizes.max);
  const after = query.after ?? null;
  const number = after === null ? (query.page ?? 1) : 1;
  // Beyond the end of any table, and still a valid bigint.
  const offset = after === null ? Math.min((number - 1) * limit, Number.MAX_SAFE_INTEGER) : 0;
  return { number, limit, offset, after };
}

/** The number of rows of a list; `estimated` if there are too many to count. */
export interface RowCount {
  total: number;
  estimated?: boolean;
  /** The page is not full, but older items may match: the search stopped after the item with this id. */
  continueAfter?: number;
}

/** An item of a page whose texts have not been read yet. */
export interface SizedItem {
  id: number;
  /** Approximate size of its texts. */
  bytes: number;
}

/**
 * Returns the planner's estimate of the number of rows.
 * @param source the SQL that follows `from`, such as `messages m where m.brand_id = $1`
 */
export async function plannedRows(client: Queryable, source: string, values: unknown[]): Promise<number> {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
    `explain (format json) select 1 from ${source}`,
    values,
  );
  return rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
}

/**
 * Returns the exact number of rows up to {@link EXACT_UP_TO}, and an estimate beyond.
 * @param source as for {@link plannedRows}
 */
export async function countRows(client: Queryable, source: string, values: unknown[]): Promise<RowCount> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*) from (select 1 from ${source} limit ${EXACT_UP_TO + 1}) counted`,
    values,
  );
  const count = rows[0]?.count ?? 0;
  if (count <= EXACT_UP_TO) return { total: count };
  return { total: Math.max(await plannedRows(client, source, values), EXACT_UP_TO), estimated: true };
}
