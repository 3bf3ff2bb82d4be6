import type { Queryable } from './queryable.ts';

/** Any fixed number: an advisory lock that keeps two processes from making the same partition. */
const PARTITION_LOCK = 7_262_514_118;
/**
 * Attaching a partition waits for every transaction that uses the default partition, and later transactions wait for
 * the attaching.
 */
const LOCK_TIMEOUT = '3s';
/**
 * Dropping a partition waits for every transaction that uses the table. If that takes too long, it can wait an hour.
 */
const DROP_LOCK_TIMEOUT = '1s';
/** lock_not_available, the error after {@link DROP_LOCK_TIMEOUT}. */
const LOCK_NOT_AVAILABLE = '55P03';

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

/** Runs `work` in a transaction. Processes that make or drop partitions at the same time wait for each other. */
export async function inMakerTransaction(client: Queryable, work: () => Promise<void>): Promise<void> {
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

/** Returns the names of a table's partitions. */
export async function existingPartitions(client: Queryable, table: string): Promise<Set<string>> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = $1::regclass`,
    [table],
  );
  return new Set(rows.map((row) => row.name));
}

/**
 * Drops a partition, unless it is still needed. Locks the table before the partition, in the order in which queries
 * lock them; otherwise they would deadlock.
 * @param isNeeded asked again under the locks
 * @returns whether the partition was dropped; if the table was in use for too long, the next call drops it
 */
export async function dropPartition(
  client: Queryable,
  table: string,
  name: string,
  isNeeded: () => Promise<boolean>,
): Promise<boolean> {
  let dropped = false;
  const work = async () => {
    await client.query(`set local lock_timeout = '${DROP_LOCK_TIMEOUT}'`);
    await client.query(`lock table only ${table} in access exclusive mode`);
    if ((await client.query('select to_regclass($1) as oid', [name])).rows[0]?.oid === null) return;
    if (await isNeeded()) return;
    await client.query(`drop table ${name}`);
    dropped = true;
  };
  await inMakerTransaction(client, work).catch((error: unknown) => {
    if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error;
  });
  return dropped;
}
