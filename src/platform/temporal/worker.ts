import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  DefaultLogger,
  Runtime,
  type LogLevel,
  bundleWorkflowCode,
  type NativeConnection,
  Worker,
  type WorkerOptions,
  type WorkflowBundle,
} from '@temporalio/worker';
import type { Level, Logger } from 'pino';
import { connectWorkers, type EngineSettings } from './connection.ts';
import { explainEngine } from './diagnosis.ts';

const levels: Record<LogLevel, Level> = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'debug',
  WARN: 'warn',
  ERROR: 'error',
};

/** Said in warning of every worker that has activities alone, as those of a sender and of bulk work are meant to. */
const NO_WORKFLOWS = 'No workflows registered, not polling for workflow tasks';

let installed = false;

/**
 * Have the library log through ours, and leave the process's signals to its role: it would stop every worker at the
 * first SIGTERM by itself. The library has one runtime a process, so only the first call counts.
 */
export function installRuntime(log: Logger): void {
  if (installed) return;
  installed = true;
  Runtime.install({
    logger: new DefaultLogger('INFO', ({ level, message, meta }) => {
      const ours = message === NO_WORKFLOWS ? 'debug' : levels[level];
      log[ours]({ ...meta }, `temporal: ${message}`);
    }),
    telemetryOptions: { logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } },
    shutdownSignals: [],
  });
}

const RETRY_FIRST_MS = 500;
const RETRY_LONGEST_MS = 4_000;
/** Workflows kept in memory between their steps; more than these are replayed when something happens to them. */
const MAX_CACHED_WORKFLOWS = 600;

let bundling: Promise<WorkflowBundle> | undefined;

/** The workflows' code, made once a process: some 1.5 s. */
export function bundleWorkflows(): Promise<WorkflowBundle> {
  bundling ??= bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../../workflows/index.ts', import.meta.url)),
    // What it would say on every start is of no use to an operator.
    logger: {
      log: ignore,
      trace: ignore,
      debug: ignore,
      info: ignore,
      warn: console.warn,
      error: console.error,
    },
  });
  return bundling;
}

function ignore(): void {
  // See above.
}

/** What a role's worker serves; the connection, namespace and shutdown times are the same for all. */
export type WorkerTask = Omit<WorkerOptions, 'connection' | 'namespace'>;

export interface KeepWorkingOptions {
  config: EngineSettings & { SHUTDOWN_GRACE_SECONDS: number };
  /** Made anew for each connection. */
  tasks: () => Promise<WorkerTask[]>;
  log: Logger;
  /** Called each time the workers are about to poll. */
  onWorking?: () => void;
  /** Called when they are being stopped, after they stopped taking work. */
  onStopping?: () => void;
}

export interface KeptWorkers {
  /** Whether workers are polling, as far as this process knows. */
  working(): boolean;
  /** Take no more work, give what runs the grace time, and end. */
  stop(): Promise<void>;
}

interface State {
  stopping: AbortController;
  workers: Worker[];
  working: boolean;
}

async function createWorkers(connection: NativeConnection, options: KeepWorkingOptions): Promise<Worker[]> {
  const { config } = options;
  const shared = {
    connection,
    namespace: config.TEMPORAL_NAMESPACE,
    shutdownGraceTime: `${config.SHUTDOWN_GRACE_SECONDS}s` as const,
    shutdownForceTime: `${config.SHUTDOWN_GRACE_SECONDS + 5}s` as const,
    maxCachedWorkflows: MAX_CACHED_WORKFLOWS,
  };
  const tasks = await options.tasks();
  return Promise.all(tasks.map((task) => Worker.create({ ...shared, ...task })));
}

function shutDown(state: State): void {
  for (const worker of state.workers) {
    if (worker.getState() === 'RUNNING') worker.shutdown();
  }
}

/** Connect and serve until stopped, or until a worker fails. */
async function serve(state: State, options: KeepWorkingOptions): Promise<void> {
  const connection = await connectWorkers(options.config);
  try {
    state.workers = await createWorkers(connection, options);
    const running = state.workers.map((worker) => worker.run());
    state.working = true;
    options.onWorking?.();
    if (state.stopping.signal.aborted) shutDown(state);
    // One that fails takes the others along, and all begin anew.
    await Promise.all(running).finally(() => {
      shutDown(state);
      return Promise.allSettled(running);
    });
  } finally {
    state.working = false;
    state.workers = [];
    await connection.close();
  }
}

/** Says why the workers do not work: once, until there is something else to say; each error itself at debug. */
function createLogDeduplicator({ config, log }: KeepWorkingOptions, signal: AbortSignal) {
  let said: string | null = null;
  return {
    async about(error: unknown): Promise<void> {
      const why = await explainEngine(config, signal).catch(() => null);
      if (signal.aborted) return;
      const message = why
        ? `the engine at ${config.TEMPORAL_ADDRESS} cannot be used: ${why}`
        : 'the engine is away: workers connect again';
      // Unexplained, the reason is in the error alone, and may have nothing to do with the engine.
      const reason = why ? message : `${message}: ${error instanceof Error ? error.message : String(error)}`;
      const isNew = reason !== said;
      said = reason;
      if (why && isNew) log.error(message);
      log[why || !isNew ? 'debug' : 'warn']({ err: error }, message);
    },
    forget: () => void (said = null),
  };
}

async function serveForEver(state: State, options: KeepWorkingOptions): Promise<void> {
  const { signal } = state.stopping;
  const complaints = createLogDeduplicator(options, signal);
  let retryMs = RETRY_FIRST_MS;
  const onWorking = () => {
    retryMs = RETRY_FIRST_MS;
    complaints.forget();
    options.onWorking?.();
  };
  while (!signal.aborted) {
    try {
      await serve(state, { ...options, onWorking });
    } catch (error) {
      if (!signal.aborted) await complaints.about(error);
    }
    await delay(retryMs, undefined, { signal }).catch(() => undefined);
    retryMs = Math.min(retryMs * 2, RETRY_LONGEST_MS);
  }
}

/**
 * Keep workers polling in the background, whatever becomes of the engine: they connect when it comes, and again
 * when it comes back. Never throws because it is away.
 */
export function keepWorking(options: KeepWorkingOptions): KeptWorkers {
  installRuntime(options.log);
  const state: State = { stopping: new AbortController(), workers: [], working: false };
  const ended = serveForEver(state, options);
  return {
    working: () => state.working,
    async stop() {
      state.stopping.abort();
      shutDown(state);
      options.onStopping?.();
      await ended;
    },
  };
}
