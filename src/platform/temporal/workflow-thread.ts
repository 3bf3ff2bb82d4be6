/**
 * The thread in which the workflows of a worker run. It does what the library's thread does, without the two things on
 * which that spends most of its time: a time limit for each call into a workflow, for which Node starts another thread
 * each time, and a stack trace of each promise, which only the engine's UI shows. The main thread ends a thread that
 * hangs.
 */
import { parentPort, workerData } from 'node:worker_threads';
import proto from '@temporalio/proto';
import { ReusableVMWorkflowCreator } from '@temporalio/worker/lib/workflow/reusable-vm.js';
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js';
import type { SinkCall } from '@temporalio/workflow';
import {
  type ActivateRequest,
  READY_ID,
  sendableInfo,
  type ThreadAnswer,
  type ThreadData,
  type ThreadRequest,
  type ThreadResponse,
} from './workflow-protocol.ts';

const { WorkflowActivation } = proto.coresdk.workflow_activation;

/** The library passes it to Node, for which it means no limit. */
const NO_LIMIT = undefined as unknown as number;

function openWorkflows({ bundle, activityNames }: ThreadData): Promise<ReusableVMWorkflowCreator> {
  Object.assign(globalHandlers, { setPromiseHook: () => undefined });
  return ReusableVMWorkflowCreator.create(bundle, NO_LIMIT, activityNames);
}

/** The levels that `installRuntime` leaves out. The library has such a line for each start and end of a run. */
const quiet = new Set(['trace', 'debug']);

const sendable = (call: SinkCall): SinkCall => ({ ...call, workflowInfo: sendableInfo(call.workflowInfo) });

const workflows = await openWorkflows(workerData as ThreadData);
const find = (runId: string) => ReusableVMWorkflowCreator.workflowByRunId.get(runId);

async function activate({ runId, activation, options }: ActivateRequest): Promise<ThreadAnswer> {
  if (options && !find(runId)) await workflows.createWorkflow(options);
  const workflow = find(runId);
  if (!workflow) throw new Error(`the thread has no workflow run ${runId}`);
  const completion = await workflow.activate(WorkflowActivation.fromObject(activation));
  const calls = await workflow.getAndResetSinkCalls();
  return { completion, calls: calls.filter(({ fnName }) => !quiet.has(fnName)).map(sendable) };
}

const respond = (response: ThreadResponse) => parentPort?.postMessage(response);

parentPort?.on('message', (request: ThreadRequest) => {
  if (request.do === 'dispose') {
    void find(request.runId)?.dispose();
    return;
  }
  const { id } = request;
  activate(request).then(
    (answer) => respond({ id, answer }),
    (error: Error) => respond({ id, answer: null, error: error.stack ?? error.message }),
  );
});
respond({ id: READY_ID, answer: null });
