import type { Queryable } from '../../platform/db/queryable.ts';
import { figureNames, type Figures } from './figures.ts';

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

/** A single statement sees each change once: as a row, or in the counts. */
const readSql = (groupBy: GroupBy): string => `
  with parts as (
    select brand_id, slot, source, channel, ${figureNames.join(', ')} from stat_counts where ${filterSql}
    union all
    select brand_id, slot, source, channel, ${changesSql} from stat_changes where ${filterSql}
  )
  select width_bucket(slot, $4::timestamptz[]) - 1 as point, ${groupColumns[groupBy]} as "group", ${sumsSql}
  from parts group by 1, 2`;

const iso = (time: number) => new Date(time).toISOString();

/** Sums the figures of brands by point and group. Points without figures have no row. */
export async function readFigures(db: Queryable, query: FiguresQuery): Promise<FiguresRow[]> {
  const { brandIds, starts, end, source, channel, groupBy } = query;
  const { rows } = await db.query<FiguresRow>(readSql(groupBy), [
    brandIds,
    iso(starts[0] ?? end),
    iso(end),
    starts.map(iso),
    source,
    channel,
  ]);
  return rows;
}
