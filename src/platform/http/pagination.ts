import { z } from 'zod';
import type { JsonResult, RouteInput } from './route.ts';

const MAX_LIMIT = 200;
const DIGITS = /^[1-9]\d{0,14}$/;

/** A positive integer in a query string; in OpenAPI an integer. */
function positive(description: string) {
  return z
    .string()
    .regex(DIGITS, 'must be a positive integer')
    .transform(Number)
    .meta({ type: 'integer', minimum: 1, pattern: undefined, description });
}

/** The query parameters of a list; spread into its query schema: `z.strictObject({ ...pageQuery, status: … })`. */
export const pageQuery = {
  page: positive('The page, from 1; 25 items each unless `limit` says otherwise.').optional(),
  limit: positive('Items a page, 25 by default; more than 200 is taken as 200.').optional(),
  after: positive('Only items older than the one with this id; what the `Link` header uses.').optional(),
};

/** A list that is given whole unless asked otherwise. */
export const wholeList = { limit: 1_000, max: 1_000 };

/** {@link pageQuery} of a {@link wholeList}. */
export const wholeListQuery = {
  ...pageQuery,
  page: positive('The page, from 1; all items are on the first unless `limit` says otherwise.').optional(),
  limit: positive('Items a page; 1,000 by default, and more is taken as 1,000.').optional(),
};

export interface PageQuery {
  page?: number | undefined;
  limit?: number | undefined;
  after?: number | undefined;
}

/** Where a list is read: with `after`, by `id < after` and no offset; else by offset. */
export interface Page {
  number: number;
  limit: number;
  offset: number;
  /** Only rows with a smaller id. */
  after: number | null;
}

/**
 * @param query as parsed by {@link pageQuery}
 * @param defaults {@link wholeList}, where the list is one
 */
export function pageOf(
  query: PageQuery,
  defaults: { limit: number; max: number } = { limit: 25, max: MAX_LIMIT },
): Page {
  const limit = Math.min(query.limit ?? defaults.limit, defaults.max);
  const after = query.after ?? null;
  const number = after === null ? (query.page ?? 1) : 1;
  // Past any table's end, and still within bigint.
  const offset = after === null ? Math.min((number - 1) * limit, Number.MAX_SAFE_INTEGER) : 0;
  return { number, limit, offset, after };
}

export interface Counted {
  total: number;
  /** Whether `total` is an estimate: filtered lists beyond 100,000. */
  estimated?: boolean;
}

interface Listed {
  id: number;
}

function link(url: URL, changes: Record<string, string | null>, rel: string): string {
  const target = new URL(url);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) target.searchParams.delete(name);
    else target.searchParams.set(name, value);
  }
  return `<${target.href}>; rel="${rel}"`;
}

/** Whether there may be older items; a page by `after` does not know how many came before it. */
function mayGoOn(page: Page, rows: Listed[], counted: Counted): boolean {
  if (rows.length < page.limit) return false;
  return page.after !== null || counted.estimated === true || page.offset + rows.length < counted.total;
}

function links(url: URL, page: Page, rows: Listed[], counted: Counted, totalPages: number): string {
  const found = [link(url, { page: null, after: null }, 'first')];
  if (page.after === null && page.number > 1) {
    const before = Math.min(page.number - 1, Math.max(totalPages, 1));
    found.push(link(url, { page: String(before) }, 'prev'));
  }
  const last = rows.at(-1);
  if (last && mayGoOn(page, rows, counted)) {
    found.push(link(url, { page: null, after: String(last.id) }, 'next'));
  }
  if (page.after === null && totalPages > 0) found.push(link(url, { page: String(totalPages) }, 'last'));
  return found.join(', ');
}

/**
 * The answer of a list: the bare array, newest first, and its headers (`X-Total-Count`, `X-Total-Pages`,
 * `X-Page-Number`, `Link`, and `X-Total-Count-Estimated` where the total is one).
 * @param rows presented, with their ids, at most `page.limit`
 */
export function paginate(
  input: Pick<RouteInput, 'ctx' | 'publicUrl'>,
  page: Page,
  rows: Listed[],
  counted: Counted,
): JsonResult {
  const totalPages = Math.ceil(counted.total / page.limit);
  const headers: Record<string, string> = {
    'X-Total-Count': String(counted.total),
    'X-Total-Pages': String(totalPages),
    Link: links(new URL(`${input.publicUrl}${input.ctx.req.url ?? '/'}`), page, rows, counted, totalPages),
  };
  if (page.after === null) headers['X-Page-Number'] = String(page.number);
  if (counted.estimated) headers['X-Total-Count-Estimated'] = 'true';
  return { status: 200, body: rows, headers };
}
