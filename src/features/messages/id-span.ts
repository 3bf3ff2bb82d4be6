import type { Queryable } from '../../platform/db/queryable.ts';

/**
 * Longest time between taking an id and writing its message. The order of ids and that of times differ by at most this.
 */
const DISORDER = `interval '2 minutes'`;

/** The bounds of a period's ids, both exclusive. */
export interface IdSpan {
  after: number;
  before: number;
}

/**
 * Finds where a time falls among the ids of a brand, by binary search: about forty look-ups by key, however many
 * messages there are. Ids follow the order of time, up to {@link DISORDER}.
 * @param time SQL
 * @returns `lastBefore`: id of the last message before the time, or 0; `firstAfter`: the lowest id that is later
 */
async function searchTime(
  client: Queryable,
  brandId: number,
  time: string,
  value: string,
): Promise<{ lastBefore: number; firstAfter: number }> {
  const { rows } = await client.query<{ low: number; high: number }>(
    `with recursive step (low, high) as (
       select 0::bigint, coalesce((
         select m.id from messages m where m.brand_id = $1 order by m.id desc limit 1), 0) + 1
       union all
       select case when m.created_at < ${time} then m.id else s.low end,
         case when m.created_at < ${time} then s.high else (s.low + s.high) / 2 end
       from step s left join lateral (
         select m.id, m.created_at from messages m
         where m.brand_id = $1 and m.id >= (s.low + s.high) / 2 and m.id < s.high order by m.id limit 1) m on true
       where s.high - s.low > 1
     )
     select low, high from step order by high - low limit 1`,
    [brandId, value],
  );
  const { low, high } = rows[0] ?? { low: 0, high: 0 };
  return { lastBefore: low, firstAfter: high };
}

/**
 * Finds the span of a brand's ids that includes all messages of a period. It also includes messages of a few minutes
 * before and after, so the times must still be compared.
 * @returns null if no time is given
 */
export async function findIdSpan(
  client: Queryable,
  brandId: number,
  period: { createdAfter?: string | undefined; createdBefore?: string | undefined },
): Promise<IdSpan | null> {
  const { createdAfter, createdBefore } = period;
  if (createdAfter === undefined && createdBefore === undefined) return null;
  const start =
    createdAfter === undefined
      ? null
      : await searchTime(client, brandId, `$2::timestamptz - ${DISORDER}`, createdAfter);
  const end =
    createdBefore === undefined
      ? null
      : await searchTime(client, brandId, `$2::timestamptz + ${DISORDER}`, createdBefore);
  return { after: start?.lastBefore ?? 0, before: end?.firstAfter ?? Number.MAX_SAFE_INTEGER };
}
