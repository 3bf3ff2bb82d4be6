/** A worker whose workflows run in the thread of `workflow-thread.ts` instead of the library's. */
import { Worker as Thread } from 'node:worker_threads';
import { type Logger, Worker } from '@temporalio/worker';
import type { CompiledWorkerOptions } from '@temporalio/worker/lib/worker-options.js';
import type {
  Workflow,
  WorkflowCreateOptions,
  WorkflowCreator,
} from '@temporalio/worker/lib/workflow/interface.js';
import type { WorkflowBundleWithSourceMapAndFilename } from '@temporalio/worker/lib/workflow/workflow-worker-thread/input.js';
import type { SinkCall } from '@temporalio/workflow';
import {
  type ActivateRequest,
  type Activation,
  type Completion,
  READY_ID,
  sendableInfo,
  type ThreadAnswer,
  type ThreadData,
  type ThreadRequest,
  type ThreadResponse,
} from './workflow-protocol.ts';

const PROGRAM = new URL('./workflow-thread.ts', import.meta.url);

/**
 * How long a thread may take for an answer before it is ended, in ms. A workflow task times out after 10 s, so the
 * engine still waits for those that fail because the thread has ended.
 */
const HUNG_MS = 5_000;
/** The time is counted in steps, so that a pause of the whole machine counts as only one step. */
const STEPS = 20;

const ended = () => new Error('the thread of the workflow has ended');

/** A request that the thread has not answered. */
interface Waiting extends PromiseWithResolvers<ThreadAnswer | null> {
  /** Null if it is the start of the thread. */
  runId: string | null;
}

/** One thread, until it ends. */
class WorkflowThread {
  readonly #thread: Thread;
  readonly #waiting = new Map<number, Waiting>();
  readonly #logger: Logger;
  readonly #hungMs: number;
  #lastId = READY_ID;
  /** Runs while requests wait. */
  #clock: NodeJS.Timeout | undefined;
  /** Steps of the clock since the last response. */
  #steps = 0;
  hasEnded = false;

  constructor(data: ThreadData, logger: Logger, hungMs: number) {
    this.#logger = logger;
    this.#hungMs = hungMs;
    this.#thread = new Thread(PROGRAM, { workerData: data });
    this.#thread
      .on('message', (response: ThreadResponse) => this.#take(response))
      .on('error', (error: unknown) => void logger.error('the thread of workflows failed', { error }))
      .on('exit', () => this.#forget());
  }

  /** Call it once, right after the constructor. @throws if the thread ends before it is ready */
  async ready(): Promise<void> {
    await this.#await(READY_ID, null);
  }

  async activate(request: Omit<ActivateRequest, 'do' | 'id'>): Promise<ThreadAnswer> {
    if (this.hasEnded) throw ended();
    const id = ++this.#lastId;
    this.#send({ do: 'activate', id, ...request });
    if (this.#clock === undefined) {
      this.#steps = 0;
      this.#clock = setInterval(() => this.#step(), this.#hungMs / STEPS);
    }
    const answer = await this.#await(id, request.runId);
    if (!answer) throw new Error(`no completion of the workflow run ${request.runId}`);
    return answer;
  }

  dispose(runId: string): void {
    if (!this.hasEnded) this.#send({ do: 'dispose', runId });
  }

  async end(): Promise<void> {
    await this.#thread.terminate();
  }

  #send(request: ThreadRequest): void {
    this.#thread.postMessage(request);
  }

  #await(id: number, runId: string | null): Promise<ThreadAnswer | null> {
    const waiting = { ...Promise.withResolvers<ThreadAnswer | null>(), runId };
    this.#waiting.set(id, waiting);
    return waiting.promise;
  }

  #take({ id, answer, error }: ThreadResponse): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    this.#steps = 0;
    if (this.#waiting.size === 0) this.#stopClock();
    if (error === undefined) waiting?.resolve(answer);
    else waiting?.reject(new Error(error));
  }

  #step(): void {
    this.#steps += 1;
    if (this.#steps < STEPS) return;
    this.#stopClock();
    // The thread takes requests in their order, so the first one hangs.
    const [hung] = this.#waiting.values();
    const message = 'a workflow does not end its turn: all workflows go on in another thread';
    this.#logger.error(message, { runId: hung?.runId });
    void this.end();
  }

  #stopClock(): void {
    clearInterval(this.#clock);
    this.#clock = undefined;
  }

  #forget(): void {
    this.hasEnded = true;
    this.#stopClock();
    for (const { reject } of this.#waiting.values()) reject(ended());
    this.#waiting.clear();
  }
}

/**
 * One workflow run. After the end of its thread each activation fails; the engine then lets the library create the run
 * again, from its history.
 */
class ThreadedWorkflow implements Workflow {
  readonly #thread: WorkflowThread;
  readonly #runId: string;
  #options: WorkflowCreateOptions | null;
  #calls: SinkCall[] = [];

  constructor(thread: WorkflowThread, options: WorkflowCreateOptions) {
    this.#thread = thread;
    this.#runId = options.info.runId;
    this.#options = options;
  }

  async activate(activation: Activation): Promise<Completion> {
    const request = { runId: this.#runId, activation, options: this.#options };
    const { completion, calls } = await this.#thread.activate(request);
    this.#options = null;
    this.#calls = calls;
    return completion;
  }

  /** They came with the completion, which saves a request for each activation. */
  getAndResetSinkCalls(): Promise<SinkCall[]> {
    const calls = this.#calls;
    this.#calls = [];
    return Promise.resolve(calls);
  }

  dispose(): Promise<void> {
    this.#thread.dispose(this.#runId);
    return Promise.resolve();
  }
}

/** Creates workflows in a thread, and in another one after it has ended. */
async function openThreads(data: ThreadData, logger: Logger, hungMs: number): Promise<WorkflowCreator> {
  const open = async () => {
    const thread = new WorkflowThread(data, logger, hungMs);
    await thread.ready();
    return thread;
  };
  let current = await open();
  let opening: Promise<WorkflowThread> | null = null;
  const openAgain = async () => {
    try {
      return (current = await open());
    } finally {
      opening = null;
    }
  };
  return {
    async createWorkflow(options) {
      const thread = current.hasEnded ? await (opening ??= openAgain()) : current;
      return new ThreadedWorkflow(thread, { ...options, info: sendableInfo(options.info) });
    },
    async destroy() {
      await opening?.catch(() => undefined);
      await current.end();
    },
  };
}

/** Is used like the library's worker. */
export class WorkflowWorker extends Worker {
  protected static hungMs = HUNG_MS;

  protected static override createWorkflowCreator(
    bundle: WorkflowBundleWithSourceMapAndFilename,
    options: CompiledWorkerOptions,
    logger: Logger,
  ): Promise<WorkflowCreator> {
    const activityNames = new Set(options.activities.keys());
    return openThreads({ bundle, activityNames }, logger, this.hungMs);
  }
}
