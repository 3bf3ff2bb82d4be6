import type pg from 'pg';
import { z } from 'zod';
import { inTransaction, type Queryable } from '../db/queryable.ts';
import { type OutboxEntry, searchAttributeNames, taskQueues } from '../temporal/contract.ts';

/** An outbox row that this process has leased. If the process is too slow, another process takes the row. */
export interface ClaimedEntry {
  id: number;
  attemptCount: number;
  /** Null if the row cannot be read, for example because a newer version wrote it; `problem` says why. */
  entry: OutboxEntry | null;
  problem: string | null;
}

const startColumns = {
  workflow_type: z.string(),
  workflow_id: z.string(),
  task_queue: z.enum(Object.values(taskQueues)),
  input: z.array(z.unknown()),
  search_attributes: z.partialRecord(z.enum(searchAttributeNames), z.union([z.string(), z.number()])),
  summary: z.string().nullable(),
  details: z.string().nullable(),
};
const signalColumns = {
  workflow_id: z.string(),
  signal_name: z.string(),
  signal_input: z.array(z.unknown()),
};

const storedEntry = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('start'), ...startColumns }),
  z.object({ kind: z.literal('signal_with_start'), ...startColumns, ...signalColumns }),
  z.object({ kind: z.literal('signal'), ...signalColumns }),
]);

type StoredEntry = z.infer<typeof storedEntry>;

function startOf(row: Exclude<StoredEntry, { kind: 'signal' }>) {
  return {
    workflowType: row.workflow_type,
    workflowId: row.workflow_id,
    taskQueue: row.task_queue,
    input: row.input,
    searchAttributes: row.search_attributes,
    ...(row.summary === null ? {} : { summary: row.summary }),
    ...(row.details === null ? {} : { details: row.details }),
  };
}

function signalOf(row: Exclude<StoredEntry, { kind: 'start' }>) {
  return { workflowId: row.workflow_id, signal: row.signal_name, signalInput: row.signal_input };
}

function toEntry(row: StoredEntry): OutboxEntry {
  switch (row.kind) {
    case 'start':
      return { kind: row.kind, ...startOf(row) };
    case 'signal':
      return { kind: row.kind, ...signalOf(row) };
    case 'signal_with_start':
      return { kind: row.kind, ...startOf(row), ...signalOf(row) };
  }
}

function readClaimed(row: { id: number; attempt_count: number }): ClaimedEntry {
  const parsed = storedEntry.safeParse(row);
  const claimed = { id: row.id, attemptCount: row.attempt_count };
  return parsed.success
    ? { ...claimed, entry: toEntry(parsed.data), problem: null }
    : { ...claimed, entry: null, problem: z.prettifyError(parsed.error) };
}

/**
 * Maximum number of leases of priority 2 over all dispatchers. They cover requests that are being sent, and runs of
 * flows that have not begun; see {@link deleteBegun}.
 */
const MAX_BULK_LEASES = 64;
/** Any fixed number that no other lock uses. It lets one dispatcher at a time count and take leases of priority 2. */
const BULK_LOCK = 1_409_043;

const columns = `id, kind, workflow_type, workflow_id, task_queue, input, signal_name, signal_input, search_attributes,
  summary, details, attempt_count`;

const isFree = '(leased_until is null or leased_until <= now())';
const freeBulk = 'priority = 2 and (leased_until is null or leased_until <= statement_timestamp())';

/** SQL: whether {@link claimEntries} would find an entry. */
export const entriesWaitSql = `exists (select from outbox where priority < 2 and ${isFree})`;

/** SQL: whether {@link claimBulkEntries} may find an entry. */
export const bulkEntriesWaitSql = `exists (select from outbox where ${freeBulk})`;

/**
 * Leases free entries of priorities 0 and 1: the lower number first, then the oldest.
 * @param leaseSeconds after this time another process may take entries that still exist
 */
export async function claimEntries(
  client: Queryable,
  limit: number,
  leaseSeconds: number,
): Promise<ClaimedEntry[]> {
  const { rows } = await client.query<{ id: number; attempt_count: number; priority: number }>(
    `update outbox set leased_until = now() + make_interval(secs => $2), attempt_count = attempt_count + 1
     where id = any (array(
       select id from outbox where priority < 2 and ${isFree}
       order by priority, id limit $1 for update skip locked))
     returning ${columns}, priority`,
    [limit, leaseSeconds],
  );
  return rows.sort((one, other) => one.priority - other.priority || one.id - other.id).map(readClaimed);
}

/**
 * Finds free entries of priority 2, the oldest of each account first. The accounts are in random order: if there are
 * more of them than a claim has room for, each has the same chance in every claim.
 */
const fairBulk = `
  with recursive accounts as (
    (select account_id from outbox where priority = 2 order by account_id limit 1)
    union all
    select (select o.account_id from outbox o where o.priority = 2 and o.account_id > a.account_id
            order by o.account_id limit 1)
    from accounts a where a.account_id is not null)
  select f.id from accounts a cross join lateral (
    select e.id, row_number() over (order by e.id) as place
    from (select id from outbox where account_id = a.account_id and ${freeBulk} order by id limit $1) e) f
  order by f.place, random()
  limit least($1, greatest(0, $3 - (
    select count(*) from outbox
    where priority = 2 and leased_until > statement_timestamp()
      and leased_until <= statement_timestamp() + make_interval(secs => $2))))`;

/**
 * Leases free entries of priority 2, so that at most {@link MAX_BULK_LEASES} are leased over all dispatchers. Accounts
 * share the leases equally; within an account, the oldest entries come first. An entry that was refused does not count
 * while it waits for its next attempt.
 */
export async function claimBulkEntries(
  pool: pg.Pool,
  limit: number,
  leaseSeconds: number,
): Promise<ClaimedEntry[]> {
  const rows = await inTransaction(pool, async (trx) => {
    // The next statement begins later than that of the dispatcher that had the lock before, and sees its leases.
    await trx.query('select pg_advisory_xact_lock($1)', [BULK_LOCK]);
    const claimed = await trx.query<{ id: number; attempt_count: number }>(
      `update outbox
       set leased_until = statement_timestamp() + make_interval(secs => $2), attempt_count = attempt_count + 1
       where id = any (array(
         select id from outbox where id = any (array(${fairBulk})) and ${freeBulk} for update skip locked))
       returning ${columns}`,
      [limit, leaseSeconds, MAX_BULK_LEASES],
    );
    return claimed.rows;
  });
  return rows.sort((one, other) => one.id - other.id).map(readClaimed);
}

/** Deletes entries that have been sent. */
export async function deleteEntries(client: Queryable, ids: number[]): Promise<void> {
  if (ids.length > 0) await client.query('delete from outbox where id = any ($1)', [ids]);
}

/** Deletes the starts of workflows that have begun. @returns how many were deleted */
export async function deleteBegun(client: Queryable, workflowIds: readonly string[]): Promise<number> {
  const { rowCount } = await client.query(
    `delete from outbox where id = any (array(
       select id from outbox where priority = 2 and kind = 'start' and workflow_id = any ($1) order by id for update))`,
    [workflowIds],
  );
  return rowCount ?? 0;
}

/** Gives back entries that were not sent because the engine is unavailable. This does not count as an attempt. */
export async function releaseEntries(client: Queryable, ids: number[]): Promise<void> {
  if (ids.length === 0) return;
  await client.query(
    'update outbox set leased_until = null, attempt_count = attempt_count - 1 where id = any ($1)',
    [ids],
  );
}

/** Keeps an entry that the engine refused, with the reason for the operator, and retries it after `seconds`. */
export async function postponeEntry(
  client: Queryable,
  id: number,
  seconds: number,
  problem: string,
): Promise<void> {
  await client.query(
    `update outbox set leased_until = now() + make_interval(secs => $2), last_error = left($3, 1000)
     where id = $1`,
    [id, seconds, problem],
  );
}
