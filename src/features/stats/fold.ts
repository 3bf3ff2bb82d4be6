import type pg from 'pg';
import type { Logger } from 'pino';
import type { Queryable } from '../../platform/db/queryable.ts';
import { repeat, type Repeating } from '../../platform/processes/repeat.ts';
import { figureNames } from './figures.ts';

/** Maximum number of changes that one statement folds. */
const FOLDED_AT_ONCE = 20_000;

const PAUSE_MS = 1_000;

/** SQL: folds the changes of customers' brands. Those of the service's own mail and of deleted brands are dropped. */
const foldSql = `
  with taken as (
    delete from stat_changes where ctid = any (array(
      select ctid from stat_changes limit ${FOLDED_AT_ONCE} for update skip locked))
    returning *
  ), folded as (
    insert into stat_counts as c (brand_id, slot, source, channel, ${figureNames.join(', ')})
    select brand_id, slot, source, channel,
      ${figureNames.map((name) => `coalesce(sum(count) filter (where name = '${name}'), 0)`).join(',\n      ')}
    from taken where brand_id in (
      select b.id from brands b join accounts a on a.id = b.account_id where a.kind <> 'system')
    group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (brand_id, slot, source, channel) do update set
      ${figureNames.map((name) => `${name} = c.${name} + excluded.${name}`).join(', ')}
  )
  select count(*)::int as taken from taken`;

/**
 * Folds changes into the counts. Several processes may fold at once: each takes other rows, and counts are locked in
 * one order.
 * @returns whether there may be more changes
 */
export async function foldStats(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ taken: number }>({ name: 'fold_stats', text: foldSql });
  return (rows[0]?.taken ?? 0) === FOLDED_AT_ONCE;
}

/** Folds the figures every second. Any number of processes may run this. */
export function startStatCounts({ pool, log }: { pool: pg.Pool; log: Logger }): Repeating {
  return repeat(async () => ((await foldStats(pool)) ? 0 : PAUSE_MS), {
    log,
    name: 'counting what happens to messages',
  });
}
