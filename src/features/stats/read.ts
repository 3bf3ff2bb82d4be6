import type { Queryable } from '../../platform/db/queryable.ts';
import { figureNames, type Figures } from './figures.ts';
import { HOUR_MS, QUARTER_MS } from './periods.ts';

export type GroupBy = 'none' | 'source' | 'channel' | 'brand';

export interface FiguresQuery {
  brandIds: readonly number[];
  /** When the points begin, in ascending order; epoch ms. */
  starts: readonly number[];
  /** When the last point ends. */
  end: number;
  source: string | null;
  channel: string | null;
  groupBy: GroupBy;
}

export interface FiguresRow extends Figures {
  /** The place of the point, from 0. */
  point: number;
  /** The source, the channel, or the id of the brand; null without groups. */
  group: string | null;
}

const groupColumns: Record<GroupBy, string> = {
  none: 'null::text',
  source: 'source',
  channel: 'channel',
  brand: 'brand_id::text',
};

const sumsSql = figureNames.map((name) => `sum(${name})::bigint as ${name}`).join(', ');
const changesSql = figureNames.map((name) => `case when name = '${name}' then count else 0 end`).join(', ');

const filterSql = `brand_id = any($1) and slot >= $2 and slot < $3
      and ($5::text is null or source = $5) and ($6::text is null or channel = $6)`;
const columns = `brand_id, slot, source, channel`;

/**
 * Whole hours are read from `stat_hours`. `$7` are the hours that contain the bound of a point, and `$8` their quarters. A
 * single statement sees each change once: as a row, or in the counts.
 */
const readSql = (groupBy: GroupBy): string => `
  with parts as (
    select ${columns}, ${figureNames.join(', ')} from stat_hours where ${filterSql} and slot <> all($7::timestamptz[])
    union all
    select ${columns}, ${figureNames.join(', ')} from stat_counts where ${filterSql} and slot = any($8::timestamptz[])
    union all
    select ${columns}, ${changesSql} from stat_changes where ${filterSql}
  )
  select width_bucket(slot, $4::timestamptz[]) - 1 as point, ${groupColumns[groupBy]} as "group", ${sumsSql}
  from parts group by 1, 2`;

/** The hours that contain a bound of a point, and those of their quarters that are in the period. */
function dividedHours({ starts, end }: Pick<FiguresQuery, 'starts' | 'end'>) {
  const bounds = [...starts, end].filter((time) => time % HOUR_MS !== 0);
  const hours = [...new Set(bounds.map((time) => time - (time % HOUR_MS)))];
  const quarters = hours
    .flatMap((hour) => [0, 1, 2, 3].map((n) => hour + n * QUARTER_MS))
    .filter((time) => time >= (starts[0] ?? end) && time < end);
  return { hours, quarters };
}

const iso = (time: number) => new Date(time).toISOString();

/** Sums the figures of brands by point and group. Points without figures have no row. */
export async function readFigures(db: Queryable, query: FiguresQuery): Promise<FiguresRow[]> {
  const { brandIds, starts, end, source, channel, groupBy } = query;
  const { hours, quarters } = dividedHours(query);
  const { rows } = await db.query<FiguresRow>(readSql(groupBy), [
    brandIds,
    iso(starts[0] ?? end),
    iso(end),
    starts.map(iso),
    source,
    channel,
    hours.map(iso),
    quarters.map(iso),
  ]);
  return rows;
}
