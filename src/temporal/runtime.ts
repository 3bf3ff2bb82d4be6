import { DefaultLogger, Runtime, type LogLevel } from '@temporalio/worker';
import type { Level, Logger } from 'pino';

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
