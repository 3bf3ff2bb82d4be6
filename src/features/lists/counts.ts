/**
 * The numbers of contacts of brands and lists. Triggers write what each statement added or removed as separate rows, so
 * that transactions do not wait for each other's counters. The worker folds the rows into the counters. A count is the
 * sum of both.
 */
import type { Queryable } from '../../platform/db/queryable.ts';

export type CountSubject = 'brand' | 'list';

/** Maximum number of changes that one statement folds. */
const FOLDED_AT_ONCE = 20_000;

/** Returns the number of contacts of each brand or list. */
export async function countOf(
  db: Queryable,
  subject: CountSubject,
  ids: readonly number[],
): Promise<Map<number, number>> {
  if (ids.length === 0) return new Map();
  // One statement sees each change once: as a row, or in the counter.
  const { rows } = await db.query<{ id: number; count: number }>({
    name: 'count_of_contacts',
    text: `
    select i.id,
      (coalesce((select count from audience_counts c where c.subject = $1 and c.id = i.id), 0)
        + coalesce((select sum(change) from audience_count_changes c where c.subject = $1 and c.id = i.id), 0)
      )::bigint as count
    from unnest($2::bigint[]) as i (id)`,
    values: [subject, ids],
  });
  return new Map(rows.map((row) => [row.id, row.count]));
}

/**
 * Folds changes into the counters. Several processes may fold at once: they skip each other's rows, and lock counters
 * in one order.
 * @returns whether there may be more changes
 */
export async function foldCounts(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ folded: number }>({
    name: 'fold_counts',
    text: `
    with taken as (
      delete from audience_count_changes where ctid = any (array(
        select ctid from audience_count_changes limit ${FOLDED_AT_ONCE} for update skip locked))
      returning subject, id, change
    ), folded as (
      insert into audience_counts as c (subject, id, count)
      select subject, id, sum(change) from taken group by subject, id order by subject, id
      on conflict (subject, id) do update set count = c.count + excluded.count
    )
    select count(*) as folded from taken`,
  });
  return (rows[0]?.folded ?? 0) === FOLDED_AT_ONCE;
}
