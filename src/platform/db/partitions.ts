import type pg from 'pg';
import { makeRangesAhead, type RangedTable } from './id-ranges.ts';
import { dropPartition, existingPartitions, inMakerTransaction } from './partition-changes.ts';
import { isConnectionError, onClient, type Queryable } from './queryable.ts';

const DAY_MS = 86_400_000;

/** The span of time that a partition covers, in UTC. */
interface Period {
  /** Number of coming periods that get a partition. */
  ahead: number;
  /** The length of the period's part of a partition's name: `20260131` or `202601`. */
  nameLength: number;
  /** The start of the period that is `offset` periods after the period of `at`. */
  start(at: Date, offset: number): Date;
}

const periods = {
  day: {
    ahead: 14,
    nameLength: 8,
    start: (at, offset) => new Date((Math.floor(at.getTime() / DAY_MS) + offset) * DAY_MS),
  },
  month: {
    ahead: 2,
    nameLength: 6,
    start: (at, offset) => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + offset, 1)),
  },
} as const satisfies Record<string, Period>;

/** A table with one partition for each UTC day or month of `created_at`, and a default partition for all other rows. */
export interface TimedTable {
  name: string;
  /** What a partition covers; a day if left out. */
  period?: keyof typeof periods;
  /** Number of whole days to keep; a period that is still needed is kept longer. Null: partitions are never dropped. */
  keptDays: number | null;
  /**
   * Number of past periods that get a partition at first. One more partition, `<name>_past`, takes all rows from before
   * them. This keeps the default partition small: attaching a partition reads the whole default partition and blocks
   * every other reader. If left out: the last period, and each period of which the default partition has rows.
   */
  pastPeriods?: number;
  /** Storage clause of each partition, such as `with (fillfactor = 85)`. */
  storage?: string;
  /** SQL condition: whether rows from the time `$1` to before `$2` are still needed. */
  neededSql?: string;
}

/** A partitioned table. Housekeeping drops the partitions of a {@link RangedTable}, because that needs settings. */
export type PartitionedTable = TimedTable | RangedTable;

export interface PartitionChanges {
  made: string[];
  dropped: string[];
}

function periodOf({ period = 'day' }: TimedTable): Period {
  return periods[period];
}

function partitionName(table: TimedTable, start: Date): string {
  const digits = start.toISOString().slice(0, 10).replaceAll('-', '');
  return `${table.name}_${digits.slice(0, periodOf(table).nameLength)}`;
}

/**
 * Starts of the periods that need a partition: one or more past ones, the coming ones, and those of rows in the default
 * partition.
 */
async function wantedPeriods(client: Queryable, table: TimedTable, asOf: Date): Promise<Date[]> {
  const { ahead, start } = periodOf(table);
  const past = table.pastPeriods ?? 1;
  const regular = Array.from({ length: past + 1 + ahead }, (_each, index) => start(asOf, index - past));
  const oldest = table.pastPeriods === undefined ? '-infinity' : regular[0];
  const { rows } = await client.query<{ start: Date }>(
    `select distinct date_trunc($2, created_at, 'UTC') as start from ${table.name}_default
     where created_at >= $1`,
    [oldest, table.period ?? 'day'],
  );
  const times = [...regular, ...rows.map((row) => row.start)].map((each) => each.getTime());
  const existing = await existingPartitions(client, table.name);
  const first = existing.has(pastName(table)) ? firstStart(table, existing) : null;
  return [...new Set(times)].filter((time) => first === null || time >= first).map((time) => new Date(time));
}

const pastName = ({ name }: TimedTable) => `${name}_past`;

/** The time at which the first partition of a period begins, in milliseconds. */
function firstStart({ name }: TimedTable, partitions: Iterable<string>): number {
  return Math.min(...[...partitions].flatMap((each) => startOf(name, each)?.getTime() ?? []));
}

/** What a partition covers. */
interface Range {
  /** Null: everything before `end`. */
  start: Date | null;
  end: Date;
}

/** Makes a partition and moves its rows from the default partition into it, all in one transaction. */
async function makePartition(
  client: Queryable,
  table: TimedTable,
  name: string,
  { start, end }: Range,
): Promise<void> {
  const range = 'created_at >= $1 and created_at < $2';
  const values = [start ?? '-infinity', end];
  const from = start ? `'${start.toISOString()}'` : 'minvalue';
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
    await client.query(
      `alter table ${table.name} attach partition ${name}
       for values from (${from}) to ('${end.toISOString()}')`,
    );
    if (detach)
      await client.query(`alter table ${table.name} attach partition ${table.name}_default default`);
  });
}

async function isNeeded(client: Queryable, { neededSql }: TimedTable, from: Date, to: Date) {
  if (neededSql === undefined) return false;
  const { rows } = await client.query<{ needed: boolean }>(`select ${neededSql} as needed`, [from, to]);
  return rows[0]?.needed ?? true;
}

function startOf(table: string, partition: string): Date | null {
  const digits = /^_(\d{4})(\d\d)(\d\d)?$/.exec(partition.slice(table.length));
  return digits ? new Date(`${digits[1]}-${digits[2]}-${digits[3] ?? '01'}T00:00:00Z`) : null;
}

async function dropOld(client: Queryable, table: TimedTable, asOf: Date): Promise<string[]> {
  if (table.keptDays === null) return [];
  const before = asOf.getTime() - table.keptDays * DAY_MS;
  const dropped: string[] = [];
  for (const name of await existingPartitions(client, table.name)) {
    const start = startOf(table.name, name);
    const end = start && periodOf(table).start(start, 1);
    if (!end || end.getTime() > before) continue;
    // Check before anything is locked, so that no query waits for a partition that is kept.
    const needed = () => isNeeded(client, table, start, end);
    if (await needed()) continue;
    if (await dropPartition(client, table.name, name, needed)) dropped.push(name);
  }
  return dropped;
}

async function makePeriods(client: Queryable, table: TimedTable, asOf: Date, made: string[]): Promise<void> {
  const existing = await existingPartitions(client, table.name);
  const make = async (name: string, range: Range) => {
    if (existing.has(name)) return;
    await makePartition(client, table, name, range);
    existing.add(name);
    made.push(name);
  };
  for (const start of await wantedPeriods(client, table, asOf)) {
    await make(partitionName(table, start), { start, end: periodOf(table).start(start, 1) });
  }
  if (table.pastPeriods === undefined) return;
  await make(pastName(table), { start: null, end: new Date(firstStart(table, existing)) });
}

/**
 * Makes the partitions of the next 14 days or 2 months and drops old ones that are no longer needed; makes the next
 * partitions of tables with ranges of ids. Safe to call at any time, from many processes at once. If one table fails,
 * the others are still done.
 * @param client one connection, outside a transaction
 * @param asOf the time from which ages and the coming periods are measured
 * @throws the error of a table after the others are done, AggregateError if several failed; at once if the connection is lost
 */
export async function keepPartitions(
  client: Queryable,
  tables: readonly PartitionedTable[],
  asOf: Date,
): Promise<PartitionChanges> {
  const changes: PartitionChanges = { made: [], dropped: [] };
  const errors: unknown[] = [];
  for (const table of tables) {
    try {
      if ('ranges' in table) {
        changes.made.push(...(await makeRangesAhead(client, table)));
        continue;
      }
      await makePeriods(client, table, asOf, changes.made);
      changes.dropped.push(...(await dropOld(client, table, asOf)));
    } catch (error) {
      if (isConnectionError(error)) throw error;
      errors.push(error);
    }
  }
  if (errors.length > 1)
    throw new AggregateError(errors, 'the partitions of several tables could not be made or dropped');
  if (errors.length === 1) throw errors[0];
  return changes;
}

/** As {@link keepPartitions}, on a connection of the pool. */
export function keepPartitionsOf(
  pool: pg.Pool,
  tables: readonly PartitionedTable[],
  asOf: Date = new Date(),
): Promise<PartitionChanges> {
  return onClient(pool, (client) => keepPartitions(client, tables, asOf));
}
