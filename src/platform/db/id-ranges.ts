import { existingPartitions, inMakerTransaction } from './partition-changes.ts';
import type { Queryable } from './queryable.ts';

/** Number of ids in a range: enough for a week at 7,000 a second. Two million ranges fit into a JavaScript number. */
export const RANGE_IDS = 2 ** 32;

/**
 * A table partitioned by ranges of an id that comes from a sequence. Each partition covers the same number of ranges
 * and is named after the first. Because the sequence is moved to the next range from time to time, a range, and thus a
 * partition, covers a span of time.
 */
export interface RangedTable {
  name: string;
  /** The sequence that gives out the ids. */
  sequence: string;
  /** Number of ranges in a partition. */
  ranges: number;
  /** Number of partitions to make ahead of the current one. */
  ahead: number;
  /** Storage clause of each partition, such as `with (fillfactor = 50)`. */
  storage?: string;
}

/** The ranges from `first` up to, but not including, `end`. */
export interface RangeSpan {
  first: number;
  end: number;
}

/** Returns the number of the range of the last id that the sequence gave out. */
export async function currentRange(client: Queryable, sequence: string): Promise<number> {
  const { rows } = await client.query<{ last_value: number }>(`select last_value from ${sequence}`);
  return Math.floor((rows[0]?.last_value ?? 0) / RANGE_IDS);
}

function partitionName(table: RangedTable, first: number): string {
  return `${table.name}_${first}`;
}

/** Returns the ranges of each partition, by its name. */
export async function rangedPartitions(
  client: Queryable,
  table: RangedTable,
): Promise<Map<string, RangeSpan>> {
  const spans = new Map<string, RangeSpan>();
  for (const name of await existingPartitions(client, table.name)) {
    const first = Number(name.slice(table.name.length + 1));
    if (Number.isInteger(first)) spans.set(name, { first, end: first + table.ranges });
  }
  return spans;
}

async function makePartition(client: Queryable, table: RangedTable, first: number): Promise<boolean> {
  const name = partitionName(table, first);
  let made = false;
  await inMakerTransaction(client, async () => {
    if ((await existingPartitions(client, table.name)).has(name)) return;
    await client.query(`create table ${name} (like ${table.name} including all) ${table.storage ?? ''}`);
    const bounds = `from (${first * RANGE_IDS}) to (${(first + table.ranges) * RANGE_IDS})`;
    await client.query(`alter table ${table.name} attach partition ${name} for values ${bounds}`);
    made = true;
  });
  return made;
}

/**
 * Makes the partitions of the current and the next ranges, if they are missing. Safe to call at any time, from many
 * processes at once.
 * @param client one connection, outside a transaction
 * @returns the names of the new partitions
 */
export async function makeRangesAhead(client: Queryable, table: RangedTable): Promise<string[]> {
  const existing = await existingPartitions(client, table.name);
  const current = Math.floor((await currentRange(client, table.sequence)) / table.ranges);
  const made: string[] = [];
  for (let n = current; n <= current + table.ahead; n++) {
    const first = n * table.ranges;
    if (existing.has(partitionName(table, first))) continue;
    if (await makePartition(client, table, first)) made.push(partitionName(table, first));
  }
  return made;
}
