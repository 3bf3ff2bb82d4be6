import type { Queryable } from '../db/queryable.ts';
import { type OutboxEntry, taskQueues, type WorkflowStart } from '../temporal/contract.ts';

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
 * Asks the engine for something as part of the caller's transaction. If that commits, the dispatcher sends the request
 * at least once; if it rolls back, never. Call `waker.wake('outbox')` after the commit; without that the dispatcher
 * finds the row within a second.
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
