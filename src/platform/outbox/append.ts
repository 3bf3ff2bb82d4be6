import type { Queryable } from '../db/queryable.ts';
import { type SearchAttributeValues, taskQueues, type TaskQueue } from '../temporal/contract.ts';

/** A workflow to run, by the name it is exported under in `workflows/index.ts`. */
export interface WorkflowStart {
  workflowType: string;
  /** From the room's contract: a pure function of a row's id. */
  workflowId: string;
  /** Of the workflow itself; `orchestration` unless given. */
  taskQueue?: TaskQueue;
  /** The workflow's arguments: ids, never a body, an address or a secret. */
  input?: unknown[];
  searchAttributes?: SearchAttributeValues;
  /** One line for an operator, such as `Webhook 7 of brand 3`. */
  summary?: string;
  /** Several lines of Markdown for an operator. */
  details?: string;
}

export interface WorkflowSignal {
  workflowId: string;
  /** From the room's contract. */
  signal: string;
  /** The signal's arguments: ids, never a body, an address or a secret. */
  signalInput?: unknown[];
}

/**
 * What the engine is to be told. `start` of a workflow that runs already does nothing; a `signal` to one that is
 * gone is dropped. Each may arrive more than once, and in another order than written: the workflow rereads its row.
 */
export type OutboxEntry =
  | ({ kind: 'start' } & WorkflowStart)
  | ({ kind: 'signal_with_start' } & WorkflowStart & WorkflowSignal)
  | ({ kind: 'signal' } & WorkflowSignal);

function startColumns(start: WorkflowStart) {
  return {
    workflow_type: start.workflowType,
    task_queue: start.taskQueue ?? taskQueues.orchestration,
    input: start.input ?? [],
    search_attributes: start.searchAttributes ?? {},
    summary: start.summary ?? null,
    details: start.details ?? null,
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

/**
 * Tell the engine, as part of the caller's transaction: told if and only if that commits, at least once.
 * Call `waker.wake('outbox')` after the commit; without it the dispatcher finds the row within a second.
 * @param client inside the caller's transaction
 */
export async function appendToOutbox(client: Queryable, entry: OutboxEntry | OutboxEntry[]): Promise<void> {
  const entries = Array.isArray(entry) ? entry : [entry];
  if (entries.length === 0) return;
  await client.query(
    `insert into outbox (kind, workflow_type, workflow_id, task_queue, input, signal_name, signal_input,
                         search_attributes, summary, details)
     select kind, workflow_type, workflow_id, task_queue, input, signal_name, signal_input,
            search_attributes, summary, details
     from jsonb_to_recordset($1::jsonb) as entry (
       kind text, workflow_type text, workflow_id text, task_queue text, input jsonb, signal_name text,
       signal_input jsonb, search_attributes jsonb, summary text, details text)`,
    [JSON.stringify(entries.map(toRow))],
  );
}
