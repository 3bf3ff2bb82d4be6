import type pg from 'pg';
import type { Queryable } from './queryable.ts';

const DAY_MS = 86_400_000;
const DAYS_AHEAD = 14;
/** Any fixed number: an advisory lock that keeps two processes from making the same partition. */
const PARTITION_LOCK = 7_262_514_118;
/** Attaching waits for every transaction that uses the default partition, and later transactions wait for it. */
const LOCK_TIMEOUT = '3s';
/** Dropping waits for every transaction that uses the table. It may just as well happen an hour later. */
const DROP_LOCK_TIMEOUT = '1s';
/** lock_not_available, the error after {@link DROP_LOCK_TIMEOUT}. */
const LOCK_NOT_AVAILABLE = '55P03';

/** A table with one partition for each UTC day of `created_at`, and a default partition for all other rows. */
export interface PartitionedTable {
  name: string;
  /** Whole days that are kept; a day that is still needed is kept longer. */
  keptDays: number;
  /** Storage clause of each partition, such as `with (fillfactor = 85)`. */
  storage?: string;
  /** SQL condition: whether rows from the time `$1` to before `$2` are still needed. */
  neededSql?: string;
}

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

/**
 * Waits for the lock without the statement timeout: another process may be moving many rows, and a process that waits
 * here blocks no other.
 */
async function waitForMakers(client: Queryable): Promise<void> {
  const limit = await client.query<{ former: string }>(
    `select current_setting('statement_timeout') as former`,
  );
  await client.query('set local statement_timeout = 0');
  await client.query('select pg_advisory_xact_lock($1)', [PARTITION_LOCK]);
  await client.query(`select set_config('statement_timeout', $1, true)`, [limit.rows[0]?.former]);
}

async function transact(client: Queryable, work: () => Promise<void>): Promise<void> {
  await client.query('begin');
  try {
    await waitForMakers(client);
    await client.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
    await work();
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

async function existingPartitions(client: Queryable, table: string): Promise<Set<string>> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = $1::regclass`,
    [table],
  );
  return new Set(rows.map((row) => row.name));
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
async function makePartition(client: Queryable, table: PartitionedTable, day: Date): Promise<void> {
  const name = partitionName(table.name, day);
  const range = 'created_at >= $1 and created_at < $2';
  const values = [day, new Date(day.getTime() + DAY_MS)];
  await transact(client, async () => {
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

async function isNeeded(client: Queryable, { neededSql }: PartitionedTable, day: Date): Promise<boolean> {
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

/**
 * Locks the table before the partition, in the order in which queries lock them; otherwise they would deadlock.
 * @returns whether the partition was dropped; if the table was in use for too long, the next call drops it
 */
async function dropPartition(
  client: Queryable,
  table: PartitionedTable,
  name: string,
  day: Date,
): Promise<boolean> {
  let dropped = false;
  const work = async () => {
    await client.query(`set local lock_timeout = '${DROP_LOCK_TIMEOUT}'`);
    await client.query(`lock table only ${table.name} in access exclusive mode`);
    if ((await client.query('select to_regclass($1) as oid', [name])).rows[0]?.oid === null) return;
    if (await isNeeded(client, table, day)) return;
    await client.query(`drop table ${name}`);
    dropped = true;
  };
  await transact(client, work).catch((error: unknown) => {
    if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error;
  });
  return dropped;
}

async function dropOld(client: Queryable, table: PartitionedTable, asOf: Date): Promise<string[]> {
  const before = asOf.getTime() - table.keptDays * DAY_MS;
  const dropped: string[] = [];
  for (const name of await existingPartitions(client, table.name)) {
    const day = dayOf(table.name, name);
    if (!day || day.getTime() + DAY_MS > before) continue;
    // Checked before anything is locked, so that no query waits for a day that stays.
    if (await isNeeded(client, table, day)) continue;
    if (await dropPartition(client, table, name, day)) dropped.push(name);
  }
  return dropped;
}

/**
 * Makes the daily partitions of the next 14 days and drops old ones that are no longer needed. Safe to call at any
 * time, from many processes at once.
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
