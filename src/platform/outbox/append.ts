import type { Queryable } from '../db/queryable.ts';
import { type OutboxEntry, taskQueues, type WorkflowStart } from '../temporal/contract.ts';

/**
 * The order in which requests are sent. 0: requests that a client or an operator waits for. 1: signals to runs of
 * flows. 2: starts of runs and mass wake-ups; only a few of these are sent at a time, so that thousands of them delay
 * nothing else. Accounts share priority 2 equally; the account is the one in the search attributes.
 */
export type OutboxPriority = 0 | 1 | 2;

function startColumns(start: WorkflowStart) {
  return {
    workflow_type: start.workflowType,
    task_queue: start.taskQueue ?? taskQueues.orchestration,
    input: start.input ?? [],
    search_attributes: start.searchAttributes ?? {},
    summary: start.summary ?? null,
    details: start.details ?? null,
    account_id: start.searchAttributes?.AccountId ?? 0,
  };
}

const noStart = { ...startColumns({ workflowType: '', workflowId: '' }), workflow_type: null };

function toRow(entry: OutboxEntry) {
  return {
    kind: entry.kind,
    workflow_id: entry.workflowId,
    ...(entry.kind === 'signal' ? noStart : startColumns(entry)),
    ...(entry.kind === 'start'
      ? { signal_name: null, signal_input: [] }
      : { signal_name: entry.signal, signal_input: entry.signalInput ?? [] }),
  };
}

/** Which requests need no row of their own. */
export interface AppendOptions {
  /**
   * Skip a signal of priority 1 if an equal one waits that no dispatcher can take before this transaction has ended: its
   * workflow then sees what this transaction wrote. For workflows that get many equal signals.
   */
  reuseWaiting?: boolean;
}

/** Signals older than this are not kept from a dispatcher any longer, however many transactions want to reuse them. */
const REUSED_FOR = `interval '1 second'`;

/**
 * SQL: whether an entry `e` has no row to reuse. The lock on the row is what makes the reuse safe: a claim skips the
 * row until the transactions that rely on it have ended. A row that merely exists may be sent before they commit.
 */
const hasNoneToReuse = `not exists (
  select from waiting w
  where w.workflow_id = e.workflow_id and w.kind = e.kind and w.signal_name is not distinct from e.signal_name)`;

function appendSql(reuse: boolean): string {
  const waiting = `, waiting as materialized (
      select o.workflow_id, o.kind, o.signal_name from outbox o
      where o.priority = 1 and o.workflow_id = any($3) and o.leased_until is null
        and o.created_at > statement_timestamp() - ${REUSED_FOR}
      order by o.id for key share of o skip locked)`;
  return `
    with entry as materialized (
      select * from jsonb_to_recordset($1::jsonb) as entry (
        kind text, workflow_type text, workflow_id text, task_queue text, input jsonb, signal_name text,
        signal_input jsonb, search_attributes jsonb, summary text, details text,
        account_id bigint))${reuse ? waiting : ''}
    insert into outbox (kind, workflow_type, workflow_id, task_queue, input, signal_name, signal_input,
                        search_attributes, summary, details, account_id, priority)
    select kind, workflow_type, workflow_id, task_queue, input, signal_name, signal_input,
           search_attributes, summary, details, account_id, $2
    from entry e${reuse ? ` where ${hasNoneToReuse}` : ''}`;
}

const append = appendSql(false);
const appendOrReuse = appendSql(true);

/**
 * Queues a request to the engine in the caller's transaction. If the transaction commits, the dispatcher sends the
 * request at least once; if it rolls back, never. Call `waker.wake('outbox')` after the commit; otherwise the
 * dispatcher takes up to a second to find the row.
 * @param client inside the caller's transaction
 */
export async function appendToOutbox(
  client: Queryable,
  entry: OutboxEntry | readonly OutboxEntry[],
  priority: OutboxPriority = 0,
  { reuseWaiting = false }: AppendOptions = {},
): Promise<void> {
  const entries = Array.isArray(entry) ? (entry as readonly OutboxEntry[]) : [entry as OutboxEntry];
  if (entries.length === 0) return;
  const values = [JSON.stringify(entries.map(toRow)), priority];
  if (reuseWaiting && priority === 1) {
    await client.query(appendOrReuse, [...values, entries.map(({ workflowId }) => workflowId)]);
  } else {
    await client.query(append, values);
  }
}
