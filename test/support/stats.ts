/** The figures of a brand, as counted and as computed from its messages. */
import type { Queryable } from '../../src/platform/db/queryable.ts';

const names = ['sent', 'delivered', 'bounced', 'complained', 'opened', 'clicked', 'unsubscribed'] as const;

/** How often something happened in a quarter of an hour. */
export interface StatCount {
  slot: Date;
  source: string;
  channel: string;
  name: (typeof names)[number];
  count: number;
}

const ORDER = 'having sum(count) <> 0 order by slot, source, channel, name';

/** The counted figures of a brand, folded or not. */
export async function countedStats(db: Queryable, brandId: number): Promise<StatCount[]> {
  const { rows } = await db.query<StatCount>(
    `select slot, source, channel, name, sum(count)::int as count from (
       select slot, source, channel, name, count from stat_changes where brand_id = $1
       union all
       select slot, source, channel, v.name, v.count from stat_counts c
       cross join lateral (values ${names.map((name) => `('${name}', c.${name})`).join(', ')}) as v (name, count)
       where brand_id = $1) s
     group by slot, source, channel, name ${ORDER}`,
    [brandId],
  );
  return rows;
}

/** Counts the messages of a brand by what their rows say. */
export async function recountedStats(db: Queryable, brandId: number): Promise<StatCount[]> {
  const { rows } = await db.query<StatCount>(
    `select slot, source, channel, name, sum(count)::int as count from (
       select to_timestamp(floor(extract(epoch from v.at) / 900) * 900) as slot,
         (array['api', 'flow', 'campaign'])[m.class + 1] as source, m.channel, v.name, 1 as count
       from messages m
       cross join lateral (values ${names.map((name) => `('${name}', m.${name}_at)`).join(', ')}) as v (name, at)
       where m.brand_id = $1 and not m.test and v.at is not null) s
     group by slot, source, channel, name ${ORDER}`,
    [brandId],
  );
  return rows;
}

/** The sums of the counted figures by name. Names without any are left out. */
export async function statSums(
  db: Queryable,
  brandId: number,
): Promise<Partial<Record<StatCount['name'], number>>> {
  const sums: Partial<Record<StatCount['name'], number>> = {};
  for (const { name, count } of await countedStats(db, brandId)) sums[name] = (sums[name] ?? 0) + count;
  return sums;
}
