import { z } from 'zod';
import type { Queryable } from '../db/queryable.ts';
import { type OutboxEntry, searchAttributeNames, taskQueues } from '../temporal/contract.ts';

/** An outbox row leased by this process. If it is too slow, another process takes the row. */
export interface ClaimedEntry {
  id: number;
  attemptCount: number;
  /** Null if the row cannot be read, for example because a newer version wrote it; `problem` says why. */
  entry: OutboxEntry | null;
  problem: string | null;
}

const start = {
  workflow_type: z.string(),
  workflow_id: z.string(),
  task_queue: z.enum(Object.values(taskQueues)),
  input: z.array(z.unknown()),
  search_attributes: z.partialRecord(z.enum(searchAttributeNames), z.union([z.string(), z.number()])),
  summary: z.string().nullable(),
  details: z.string().nullable(),
};
const signal = { workflow_id: z.string(), signal_name: z.string(), signal_input: z.array(z.unknown()) };

const storedEntry = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('start'), ...start }),
  z.object({ kind: z.literal('signal_with_start'), ...start, ...signal }),
  z.object({ kind: z.literal('signal'), ...signal }),
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

function read(row: { id: number; attempt_count: number }): ClaimedEntry {
  const parsed = storedEntry.safeParse(row);
  const claimed = { id: row.id, attemptCount: row.attempt_count };
  return parsed.success
    ? { ...claimed, entry: toEntry(parsed.data), problem: null }
    : { ...claimed, entry: null, problem: z.prettifyError(parsed.error) };
}

/**
 * Leases the oldest free entries.
 * @param leaseSeconds after this time another process may take entries that still exist
 */
export async function claimEntries(
  client: Queryable,
  limit: number,
  leaseSeconds: number,
): Promise<ClaimedEntry[]> {
  const { rows } = await client.query<{ id: number; attempt_count: number }>(
    `update outbox set leased_until = now() + make_interval(secs => $2), attempt_count = attempt_count + 1
     where id = any (array(
       select id from outbox where leased_until is null or leased_until <= now()
       order by id limit $1 for update skip locked))
     returning id, kind, workflow_type, workflow_id, task_queue, input, signal_name, signal_input,
               search_attributes, summary, details, attempt_count`,
    [limit, leaseSeconds],
  );
  return rows.map(read).sort((one, other) => one.id - other.id);
}

/** Deletes entries that were sent. */
export async function deleteEntries(client: Queryable, ids: number[]): Promise<void> {
  if (ids.length > 0) await client.query('delete from outbox where id = any ($1)', [ids]);
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
