import type pg from 'pg';
import { makeRangesAhead, type RangedTable } from './id-ranges.ts';
import { dropPartition, existingPartitions, inMakerTransaction } from './partition-changes.ts';
import type { Queryable } from './queryable.ts';

const DAY_MS = 86_400_000;
const DAYS_AHEAD = 14;
/** A table with one partition for each UTC day of `created_at`, and a default partition for all other rows. */
export interface DailyTable {
  name: string;
  /** Whole days that are kept; a day that is still needed is kept longer. */
  keptDays: number;
  /** Storage clause of each partition, such as `with (fillfactor = 85)`. */
  storage?: string;
  /** SQL condition: whether rows from the time `$1` to before `$2` are still needed. */
  neededSql?: string;
}

/** A partitioned table. Housekeeping drops the partitions of a {@link RangedTable}, because that needs settings. */
export type PartitionedTable = DailyTable | RangedTable;

export interface PartitionChanges {
  made: string[];
  dropped: string[];
}

function startOfDay(at: Date): Date {
  return new Date(Math.floor(at.getTime() / DAY_MS) * DAY_MS);
}

function partitionName(table: string, day: Date): string {
  return `${table}_${day.toISOString().slice(0, 10).replaceAll('-', '')}`;
}

function bounds(day: Date): string {
  const next = new Date(day.getTime() + DAY_MS);
  return `from ('${day.toISOString()}') to ('${next.toISOString()}')`;
}

/** Days that need a partition: from yesterday on, and each day of which the default partition has rows. */
async function wantedDays(client: Queryable, table: string, asOf: Date): Promise<Date[]> {
  const today = startOfDay(asOf).getTime();
  const ahead = Array.from({ length: DAYS_AHEAD + 2 }, (_each, index) => today + (index - 1) * DAY_MS);
  const { rows } = await client.query<{ day: Date }>(
    `select distinct date_trunc('day', created_at, 'UTC') as day from ${table}_default`,
  );
  const caught = rows.map((row) => row.day.getTime());
  return [...new Set([...ahead, ...caught])].map((time) => new Date(time));
}

/** Makes a partition and moves the day's rows from the default partition into it, all in one transaction. */
async function makePartition(client: Queryable, table: DailyTable, day: Date): Promise<void> {
  const name = partitionName(table.name, day);
  const range = 'created_at >= $1 and created_at < $2';
  const values = [day, new Date(day.getTime() + DAY_MS)];
  await inMakerTransaction(client, async () => {
    if ((await existingPartitions(client, table.name)).has(name)) return;
    const caught = await client.query(`select 1 from ${table.name}_default where ${range} limit 1`, values);
    await client.query(`create table ${name} (like ${table.name} including all) ${table.storage ?? ''}`);
    const detach = (caught.rowCount ?? 0) > 0;
    if (detach) {
      await client.query(`alter table ${table.name} detach partition ${table.name}_default`);
      await client.query(
        `with moved as (delete from ${table.name}_default where ${range} returning *)
         insert into ${name} select * from moved`,
        values,
      );
    }
    await client.query(`alter table ${table.name} attach partition ${name} for values ${bounds(day)}`);
    if (detach)
      await client.query(`alter table ${table.name} attach partition ${table.name}_default default`);
  });
}

async function isNeeded(client: Queryable, { neededSql }: DailyTable, day: Date): Promise<boolean> {
  if (neededSql === undefined) return false;
  const { rows } = await client.query<{ needed: boolean }>(`select ${neededSql} as needed`, [
    day,
    new Date(day.getTime() + DAY_MS),
  ]);
  return rows[0]?.needed ?? true;
}

function dayOf(table: string, partition: string): Date | null {
  const digits = /_(\d{4})(\d\d)(\d\d)$/.exec(partition.slice(table.length));
  return digits ? new Date(`${digits[1]}-${digits[2]}-${digits[3]}T00:00:00Z`) : null;
}

async function dropOld(client: Queryable, table: DailyTable, asOf: Date): Promise<string[]> {
  const before = asOf.getTime() - table.keptDays * DAY_MS;
  const dropped: string[] = [];
  for (const name of await existingPartitions(client, table.name)) {
    const day = dayOf(table.name, name);
    if (!day || day.getTime() + DAY_MS > before) continue;
    // Checked before anything is locked, so that no query waits for a day that stays.
    const needed = () => isNeeded(client, table, day);
    if (await needed()) continue;
    if (await dropPartition(client, table.name, name, needed)) dropped.push(name);
  }
  return dropped;
}

/**
 * Makes the daily partitions of the next 14 days and drops old ones that are no longer needed; makes the next
 * partitions of tables with ranges of ids. Safe to call at any time, from many processes at once.
 * @param client one connection, outside a transaction
 * @param asOf the time from which ages and the days ahead are measured
 */
export async function keepPartitions(
  client: Queryable,
  tables: readonly PartitionedTable[],
  asOf: Date,
): Promise<PartitionChanges> {
  const changes: PartitionChanges = { made: [], dropped: [] };
  for (const table of tables) {
    if ('ranges' in table) {
      changes.made.push(...(await makeRangesAhead(client, table)));
      continue;
    }
    const existing = await existingPartitions(client, table.name);
    for (const day of await wantedDays(client, table.name, asOf)) {
      const name = partitionName(table.name, day);
      if (existing.has(name)) continue;
      await makePartition(client, table, day);
      changes.made.push(name);
    }
    changes.dropped.push(...(await dropOld(client, table, asOf)));
  }
  return changes;
}

/** As {@link keepPartitions}, on a connection of the pool. */
export async function keepPartitionsOf(
  pool: pg.Pool,
  tables: readonly PartitionedTable[],
  asOf: Date = new Date(),
): Promise<PartitionChanges> {
  const client = await pool.connect();
  try {
    return await keepPartitions(client, tables, asOf);
  } finally {
    client.release();
  }
}
