import { setTimeout as delay } from 'node:timers/promises';
import {
  DefaultLogger,
  Runtime,
  type LogLevel,
  type NativeConnection,
  Worker,
  type WorkerOptions,
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

/** The library's warning for a worker without workflows. Ours for bulk work and in senders have none by design. */
const NO_WORKFLOWS = 'No workflows registered, not polling for workflow tasks';

let installed = false;

/**
 * Sends the library's log lines to our log, and keeps the library from handling signals: it would stop every worker at
 * the first SIGTERM, but the role decides that. The library has one runtime per process, so only the first call has an
 * effect.
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

/** While no worker can run, the pause doubles from the first value to the second. */
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 4_000;
/**
 * Maximum number of workflows kept in memory between their steps. Other workflows are replayed when an event reaches
 * them.
 */
const MAX_CACHED_WORKFLOWS = 600;
/** Minimum time between two diagnoses of the engine while the same error repeats, in ms. */
const DIAGNOSE_AGAIN_MS = 30_000;

/** One worker of a role; connection, namespace and shutdown times are the same for all. */
export type WorkerTask = Omit<WorkerOptions, 'connection' | 'namespace'>;

export interface KeepWorkingOptions {
  config: EngineSettings & { SHUTDOWN_GRACE_SECONDS: number };
  /** Called for each new connection. */
  tasks: () => Promise<WorkerTask[]>;
  log: Logger;
  /** Called whenever the workers start to poll. */
  onWorking?: () => void;
  /** Called during `stop()`, after the workers have stopped taking work. */
  onStopping?: () => void;
}

export interface KeptWorkers {
  /** Whether the workers are polling, as far as this process knows. */
  working(): boolean;
  /** Takes no more work, gives running work the grace time to finish, and ends. */
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

/** Connects and serves until stopped, or until a worker fails. */
async function serve(state: State, options: KeepWorkingOptions): Promise<void> {
  const connection = await connectWorkers(options.config);
  try {
    state.workers = await createWorkers(connection, options);
    const running = state.workers.map((worker) => worker.run());
    state.working = true;
    options.onWorking?.();
    if (state.stopping.signal.aborted) shutDown(state);
    try {
      await Promise.all(running);
    } finally {
      // If one worker fails, all stop and start again together.
      shutDown(state);
      await Promise.allSettled(running);
    }
  } finally {
    state.working = false;
    state.workers = [];
    await connection.close();
  }
}

/**
 * Logs why the workers cannot run: each new reason once, with the remedy if it is known. Repeated errors are logged at
 * debug level.
 */
function createFailureLog({ config, log }: KeepWorkingOptions, signal: AbortSignal) {
  let reported: string | null = null;
  let diagnosed: { error: string; at: number; explanation: string | null } | null = null;

  async function explain(error: string): Promise<string | null> {
    if (diagnosed?.error === error && Date.now() - diagnosed.at < DIAGNOSE_AGAIN_MS) {
      return diagnosed.explanation;
    }
    const explanation = await explainEngine(config, signal).catch(() => null);
    diagnosed = { error, at: Date.now(), explanation };
    return explanation;
  }

  return {
    async add(error: unknown): Promise<void> {
      const text = error instanceof Error ? error.message : String(error);
      const explanation = await explain(text);
      if (signal.aborted) return;
      const message = explanation
        ? `the engine at ${config.TEMPORAL_ADDRESS} cannot be used: ${explanation}`
        : 'the engine is unavailable: workers will connect again';
      // Without an explanation, only the error says why, and the reason may have nothing to do with the engine.
      const reason = explanation ? message : `${message}: ${text}`;
      const isNew = reason !== reported;
      reported = reason;
      if (explanation && isNew) log.error(message);
      log[explanation || !isNew ? 'debug' : 'warn']({ err: error }, message);
    },
    /** Call this when the workers run: the next failure is then logged as new. */
    clear() {
      reported = null;
      diagnosed = null;
    },
  };
}

async function serveUntilStopped(state: State, options: KeepWorkingOptions): Promise<void> {
  const { signal } = state.stopping;
  const failures = createFailureLog(options, signal);
  let retryMs = RETRY_MIN_MS;
  const onWorking = () => {
    retryMs = RETRY_MIN_MS;
    failures.clear();
    options.onWorking?.();
  };
  while (!signal.aborted) {
    try {
      await serve(state, { ...options, onWorking });
    } catch (error) {
      if (!signal.aborted) await failures.add(error);
    }
    await delay(retryMs, undefined, { signal }).catch(() => undefined);
    retryMs = Math.min(retryMs * 2, RETRY_MAX_MS);
  }
}

/**
 * Keeps workers polling in the background. They connect as soon as the engine is available, and again after each
 * interruption; an unavailable engine is never an error here.
 */
export function keepWorking(options: KeepWorkingOptions): KeptWorkers {
  installRuntime(options.log);
  const state: State = { stopping: new AbortController(), workers: [], working: false };
  const ended = serveUntilStopped(state, options);
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
