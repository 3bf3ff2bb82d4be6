import type pg from 'pg';
import type { Queryable } from './queryable.ts';

const DAY_MS = 86_400_000;
const DAYS_AHEAD = 14;
/** Any fixed number, so that two never make the same partition. */
const PARTITION_LOCK = 7_262_514_118;
/** Attaching waits for whoever uses the default partition, and all others behind it: never for long. */
const LOCK_TIMEOUT = '3s';
/** Dropping does so with the whole table, and nothing is lost where it happens an hour later. */
const DROP_LOCK_TIMEOUT = '1s';
/** lock_not_available: what {@link DROP_LOCK_TIMEOUT} ends with. */
const LOCK_NOT_AVAILABLE = '55P03';

/** A table in partitions of one UTC day of `created_at`, and a default one that catches the rest. */
interface PartitionedTable {
  name: string;
  /** Whole days that are kept; a day that something unfinished needs is kept longer. */
  keptDays: number;
  /** Storage parameters of each partition. */
  storage: string;
}

const tables: PartitionedTable[] = [
  // Of one day, deliveries go first: they say whether attempts and events are still needed.
  { name: 'webhook_deliveries', keptDays: 7, storage: 'with (fillfactor = 85)' },
  { name: 'webhook_attempts', keptDays: 7, storage: '' },
  { name: 'events', keptDays: 30, storage: '' },
];

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

/** As long as it takes, whatever other statements may: who waits for another maker keeps nobody waiting. */
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

/** Days that must exist: from yesterday on, and each that the default partition has rows of. */
async function wantedDays(client: Queryable, table: string, asOf: Date): Promise<Date[]> {
  const today = startOfDay(asOf).getTime();
  const ahead = Array.from({ length: DAYS_AHEAD + 2 }, (_each, index) => today + (index - 1) * DAY_MS);
  const { rows } = await client.query<{ day: Date }>(
    `select distinct date_trunc('day', created_at, 'UTC') as day from ${table}_default`,
  );
  const caught = rows.map((row) => row.day.getTime());
  return [...new Set([...ahead, ...caught])].map((time) => new Date(time));
}

/** Rows of a day that the default partition caught move into the new one, all in one transaction. */
async function makePartition(client: Queryable, table: PartitionedTable, day: Date): Promise<void> {
  const name = partitionName(table.name, day);
  const range = 'created_at >= $1 and created_at < $2';
  const values = [day, new Date(day.getTime() + DAY_MS)];
  await transact(client, async () => {
    if ((await existingPartitions(client, table.name)).has(name)) return;
    const caught = await client.query(`select 1 from ${table.name}_default where ${range} limit 1`, values);
    await client.query(`create table ${name} (like ${table.name} including all) ${table.storage}`);
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

/** Whether a delivery of that day has not ended. */
async function hasUnfinished(client: Queryable, day: Date): Promise<boolean> {
  const { rows } = await client.query<{ unfinished: boolean }>(
    `select exists (select 1 from webhook_queue where created_at >= $1 and created_at < $2)
       or exists (select 1 from webhook_deliveries
                  where created_at >= $1 and created_at < $2 and next_attempt_at is not null) as unfinished`,
    [day, new Date(day.getTime() + DAY_MS)],
  );
  return rows[0]?.unfinished ?? true;
}

function dayOf(table: string, partition: string): Date | null {
  const digits = /_(\d{4})(\d\d)(\d\d)$/.exec(partition.slice(table.length));
  return digits ? new Date(`${digits[1]}-${digits[2]}-${digits[3]}T00:00:00Z`) : null;
}

/**
 * Queries lock the table first and its partitions after, and so does this, or they would wait for one another.
 * @returns whether it was dropped; where the table was in use for too long, it is the next time
 */
async function dropPartition(client: Queryable, table: string, name: string, day: Date): Promise<boolean> {
  let dropped = false;
  const work = async () => {
    await client.query(`set local lock_timeout = '${DROP_LOCK_TIMEOUT}'`);
    await client.query(`lock table only ${table} in access exclusive mode`);
    if ((await client.query('select to_regclass($1) as oid', [name])).rows[0]?.oid === null) return;
    if (await hasUnfinished(client, day)) return;
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
    // Looked at before anything is locked: nobody is to wait for a day that stays.
    if (await hasUnfinished(client, day)) continue;
    if (await dropPartition(client, table.name, name, day)) dropped.push(name);
  }
  return dropped;
}

/**
 * Make the daily partitions of the next 14 days and drop those that are older than they are kept and have nothing
 * unfinished in them. Safe to call at any time, from many processes at once.
 * @param client one connection, outside a transaction
 * @param asOf what age and the days ahead are measured from
 */
export async function keepPartitions(client: Queryable, asOf: Date): Promise<PartitionChanges> {
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

/** As {@link keepPartitions}, on a connection of the pool's. */
export async function keepPartitionsOf(pool: pg.Pool, asOf: Date = new Date()): Promise<PartitionChanges> {
  const client = await pool.connect();
  try {
    return await keepPartitions(client, asOf);
  } finally {
    client.release();
  }
}
