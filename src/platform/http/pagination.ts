import type { Page, RowCount } from '../db/paging.ts';
import type { JsonResult, RouteInput } from './route.ts';

/**
 * Whether the `next` link continues after an item's id, or by page number, for lists that are not in the order of ids.
 */
type NextBy = 'id' | 'page';

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

/** Whether there may be older items. With `after`, the number of items before the page is unknown. */
function mayHaveMore(page: Page, rows: Listed[], count: RowCount): boolean {
  if (rows.length < page.limit) return false;
  return page.after !== null || count.estimated === true || page.offset + rows.length < count.total;
}

/** The `Link` header (RFC 8288). `next` uses `after`: it stays fast and stable deep inside a long list. */
function links(
  url: URL,
  page: Page,
  rows: Listed[],
  count: RowCount,
  totalPages: number,
  next: NextBy,
): string {
  const found = [link(url, { page: null, after: null }, 'first')];
  if (page.after === null && page.number > 1) {
    const previous = Math.min(page.number - 1, Math.max(totalPages, 1));
    found.push(link(url, { page: String(previous) }, 'prev'));
  }
  const last = mayHaveMore(page, rows, count) ? rows.at(-1)?.id : count.continueAfter;
  if (last !== undefined) {
    const changes: Record<string, string | null> =
      next === 'page' ? { page: String(page.number + 1) } : { page: null, after: String(last) };
    found.push(link(url, changes, 'next'));
  }
  if (page.after === null && totalPages > 0) found.push(link(url, { page: String(totalPages) }, 'last'));
  return found.join(', ');
}

/**
 * The response of a list: a bare array, newest first, with the headers `X-Total-Count`, `X-Total-Pages`,
 * `X-Page-Number`, `Link`, and `X-Total-Count-Estimated` if the total is an estimate.
 * @param rows presented rows, at most `page.limit`
 */
export function paginate(
  input: Pick<RouteInput, 'ctx' | 'publicUrl'>,
  page: Page,
  rows: Listed[],
  count: RowCount,
  next: NextBy = 'id',
): JsonResult {
  const totalPages = Math.ceil(count.total / page.limit);
  const url = new URL(`${input.publicUrl}${input.ctx.path}${input.ctx.search}`);
  const headers: Record<string, string> = {
    'X-Total-Count': String(count.total),
    'X-Total-Pages': String(totalPages),
    Link: links(url, page, rows, count, totalPages, next),
  };
  if (page.after === null) headers['X-Page-Number'] = String(page.number);
  if (count.estimated) headers['X-Total-Count-Estimated'] = 'true';
  return { status: 200, body: rows, headers };
}
