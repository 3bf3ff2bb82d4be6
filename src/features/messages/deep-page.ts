import type { Page } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** From this row on, a page of the list without filters begins at a closed day. */
const DEEP_OFFSET = 1_000;

/**
 * Finds the closed day in which a deep page of the list without filters begins, so that the page need not read all newer
 * messages. The stored counts say exactly how many there are: messages are never deleted one by one.
 * @returns the same rows as a page that begins at the day; the page itself if it is not deep, or begins after the last
 * closed day
 */
export async function skipNewerDays(client: Queryable, brandId: number, page: Page): Promise<Page> {
  if (page.offset < DEEP_OFFSET) return page;
  const { rows } = await client.query<{ last_id: number; newer: number }>(
    `with closed as (
       select last_id, count, sum(count) over (order by day desc) - count as newer
       from message_daily_counts where brand_id = $1),
     open as (
       select count(*) as count from (
         select 1 from messages m
         where m.brand_id = $1 and m.id > (select coalesce(max(last_id), 0) from closed) limit $2 + 1) o)
     select closed.last_id, (closed.newer + open.count)::bigint as newer from closed, open
     where closed.count > 0 and closed.newer + open.count <= $2 order by closed.last_id limit 1`,
    [brandId, page.offset],
  );
  const [day] = rows;
  return day ? { ...page, after: day.last_id + 1, offset: page.offset - day.newer } : page;
}
