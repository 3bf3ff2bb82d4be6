import { WorkflowNotFoundError, type WorkflowExecutionStatusName } from '@temporalio/client';
import type { EngineClient } from './connection.ts';
import {
  searchAttributeNames,
  type SearchAttributeValues,
  taskQueues,
  type WorkflowSignal,
  type WorkflowStart,
} from './contract.ts';

function typed(values: SearchAttributeValues) {
  return searchAttributeNames.flatMap((name) => {
    const value = values[name];
    return value === undefined ? [] : [{ key: { name, type: 'KEYWORD' as const }, value: String(value) }];
  });
}

function startOptions(start: WorkflowStart) {
  return {
    workflowId: start.workflowId,
    taskQueue: start.taskQueue ?? taskQueues.orchestration,
    args: start.input ?? [],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
    workflowIdConflictPolicy: 'USE_EXISTING' as const,
    typedSearchAttributes: typed(start.searchAttributes ?? {}),
    ...(start.summary === undefined ? {} : { staticSummary: start.summary }),
    ...(start.details === undefined ? {} : { staticDetails: start.details }),
  };
}

/** Starts a workflow unless one with this id is running. */
export async function startWorkflow(client: EngineClient, start: WorkflowStart): Promise<void> {
  await client.workflow.start(start.workflowType, startOptions(start));
}

/** Signals a workflow, and starts it first unless one with this id is running. */
export async function signalWithStart(
  client: EngineClient,
  entry: WorkflowStart & WorkflowSignal,
): Promise<void> {
  await client.workflow.signalWithStart(entry.workflowType, {
    ...startOptions(entry),
    signal: entry.signal,
    signalArgs: entry.signalInput ?? [],
  });
}

/** @returns false if no workflow with this id is running */
export async function signalWorkflow(client: EngineClient, entry: WorkflowSignal): Promise<boolean> {
  try {
    await client.workflow.getHandle(entry.workflowId).signal(entry.signal, ...(entry.signalInput ?? []));
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** States of workflows that have ended. */
const closed = new Set<WorkflowExecutionStatusName>([
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'TERMINATED',
  'TIMED_OUT',
]);

/** @returns false if the engine knows no workflow with this id, or the last one has ended */
export async function workflowRuns(client: EngineClient, workflowId: string): Promise<boolean> {
  try {
    const { status } = await client.workflow.getHandle(workflowId).describe();
    return !closed.has(status.name);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
