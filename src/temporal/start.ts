import type { Client } from '@temporalio/client';
import type { WorkflowSignal, WorkflowStart } from '../outbox/service.ts';
import { searchAttributeNames, type SearchAttributeValues } from './search-attributes.ts';

function typed(values: SearchAttributeValues) {
  return searchAttributeNames.flatMap((name) => {
    const value = values[name];
    return value === undefined ? [] : [{ key: { name, type: 'KEYWORD' as const }, value: String(value) }];
  });
}

function startOptions(start: WorkflowStart) {
  return {
    workflowId: start.workflowId,
    taskQueue: start.taskQueue ?? 'orchestration',
    args: start.input ?? [],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
    workflowIdConflictPolicy: 'USE_EXISTING' as const,
    typedSearchAttributes: typed(start.searchAttributes ?? {}),
    ...(start.summary === undefined ? {} : { staticSummary: start.summary }),
    ...(start.details === undefined ? {} : { staticDetails: start.details }),
  };
}

/** Start a workflow where none of this id runs; where one does, nothing happens. */
export async function startWorkflow(client: Client, start: WorkflowStart): Promise<void> {
  await client.workflow.start(start.workflowType, startOptions(start));
}

/** Signal a workflow, started first where none of this id runs. */
export async function signalWithStart(client: Client, entry: WorkflowStart & WorkflowSignal): Promise<void> {
  await client.workflow.signalWithStart(entry.workflowType, {
    ...startOptions(entry),
    signal: entry.signal,
    signalArgs: entry.signalInput ?? [],
  });
}

/** @throws WorkflowNotFoundError where none of this id runs */
export async function signalWorkflow(client: Client, entry: WorkflowSignal): Promise<void> {
  await client.workflow.getHandle(entry.workflowId).signal(entry.signal, ...(entry.signalInput ?? []));
}
