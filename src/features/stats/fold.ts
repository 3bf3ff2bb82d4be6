import type pg from 'pg';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Pulse } from '../../platform/processes/pulse.ts';
import type { Repeating } from '../../platform/processes/repeat.ts';
import { figureNames } from './figures.ts';

/** Maximum number of changes that one statement folds. */
const FOLDED_AT_ONCE = 20_000;

const sumsSql = figureNames
  .map((name) => `coalesce(sum(count) filter (where name = '${name}'), 0) as ${name}`)
  .join(',\n      ');

/** SQL: adds the sums to the rows of a table whose slots have this length. */
const addSql = (table: string, length: string): string => `
    insert into ${table} as c (brand_id, slot, source, channel, ${figureNames.join(', ')})
    select brand_id, date_bin('${length}', slot, '2000-01-01 00:00+00'::timestamptz), source, channel,
      ${figureNames.map((name) => `sum(${name})`).join(', ')}
    from sums group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (brand_id, slot, source, channel) do update set
      ${figureNames.map((name) => `${name} = c.${name} + excluded.${name}`).join(', ')}`;

/** SQL: the changes of messages that `older-messages.ts` has reached. */
const foldable = 'message_id is null or message_id <= (select reached_id from older_stats)';

/**
 * SQL: folds the changes of customers' brands. Those of the service's own mail and of deleted brands are dropped. Those
 * of messages that `older-messages.ts` has not reached wait for it.
 */
const foldSql = `
  with taken as (
    delete from stat_changes where ctid = any (array(
      select ctid from stat_changes where ${foldable}
      limit ${FOLDED_AT_ONCE} for update skip locked))
    returning *
  ), sums as materialized (
    select brand_id, slot, source, channel, ${sumsSql}
    from taken where brand_id in (
      select b.id from brands b join accounts a on a.id = b.account_id where a.kind <> 'system')
    group by 1, 2, 3, 4
  ), quarters as (${addSql('stat_counts', '15 minutes')}
  ), hours as (${addSql('stat_hours', '1 hour')}
  )
  select count(*)::int as taken from taken`;

/**
 * Folds changes into the counts by quarter of an hour and by hour. Several processes may fold at once: each takes other
 * rows, and counts are locked in one order.
 * @returns whether there may be more changes
 */
export async function foldStats(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ taken: number }>({ name: 'fold_stats', text: foldSql });
  return (rows[0]?.taken ?? 0) === FOLDED_AT_ONCE;
}

/** Folds the figures within a second. Any number of processes may run this. */
export function startStatCounts({ pool, pulse }: { pool: pg.Pool; pulse: Pulse }): Repeating {
  const queue = {
    name: 'counting what happens to messages',
    waiting: `exists (select from stat_changes where ${foldable})`,
  };
  return pulse.repeat(queue, () => foldStats(pool));
}
