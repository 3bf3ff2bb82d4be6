import type pg from 'pg';
import type { Logger } from 'pino';
import { type DeadProcessTask, type LiveProcess, reapDeadProcesses } from './process.ts';

const INTERVAL_MS = 2_000;

export interface ReaperDeps {
  pool: pg.Pool;
  process: LiveProcess;
  /** What each room does about a dead process's work, in one transaction. */
  tasks: DeadProcessTask[];
  /** Called after somebody's work was given back. */
  onReaped: () => void;
  log: Logger;
}

/** Look for dead processes every two seconds; several reapers at once do no harm. */
export function startReaper(deps: ReaperDeps): { stop(): Promise<void> } {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();

  async function round(): Promise<void> {
    try {
      const reaped = await reapDeadProcesses(deps.pool, deps.process.id(), deps.tasks);
      if (reaped.length > 0) {
        deps.log.warn({ processes: reaped }, 'took over the work of dead processes');
        deps.onReaped();
      }
    } catch (error) {
      deps.log.warn({ err: error }, 'looking for dead processes failed');
    }
  }

  const timer = setInterval(() => {
    running = running.then(() => (stopped ? undefined : round()));
  }, INTERVAL_MS);
  running = round();
  return {
    async stop() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}
