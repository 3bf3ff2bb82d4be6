/** What a worker and the thread of its workflows send to each other. */
import type { Workflow, WorkflowCreateOptions } from '@temporalio/worker/lib/workflow/interface.js';
import type { WorkflowBundleWithSourceMapAndFilename } from '@temporalio/worker/lib/workflow/workflow-worker-thread/input.js';
import type { SinkCall, WorkflowInfo } from '@temporalio/workflow';

/** Functions cannot be sent between threads. The thread has its own, and no logger needs them. */
export function sendableInfo(info: WorkflowInfo): WorkflowInfo {
  const { now: _, random: __, ...unsafe } = info.unsafe;
  return { ...info, unsafe: unsafe as WorkflowInfo['unsafe'] };
}

/** What the thread is started with. */
export interface ThreadData {
  bundle: WorkflowBundleWithSourceMapAndFilename;
  /** The activities that the worker has. */
  activityNames: Set<string>;
}

export type Activation = Parameters<Workflow['activate']>[0];
export type Completion = Awaited<ReturnType<Workflow['activate']>>;

/** Ends the run in the thread. It is not answered. */
export interface DisposeRequest {
  do: 'dispose';
  runId: string;
}

export interface ActivateRequest {
  do: 'activate';
  id: number;
  runId: string;
  activation: Activation;
  /** What to create the run from; null once the thread has it. */
  options: WorkflowCreateOptions | null;
}

export type ThreadRequest = ActivateRequest | DisposeRequest;

export interface ThreadAnswer {
  completion: Completion;
  /** What the workflow wants to be logged. */
  calls: SinkCall[];
}

/** The response to an activation or, with {@link READY_ID}, to the start. */
export interface ThreadResponse {
  id: number;
  /** Null after the start, and after an error. */
  answer: ThreadAnswer | null;
  error?: string;
}

export const READY_ID = 0;
