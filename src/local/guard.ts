import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Makes sure that what this process starts does not outlive it. */
export interface Guard {
  /** End `pid` by `signal`, later by SIGKILL, should this process die. */
  watch(pid: number, signal: NodeJS.Signals): void;
  /** Call when it has ended: ids are used again. */
  forget(pid: number): void;
  /** Nothing is left to watch. */
  close(): Promise<void>;
}

const script = fileURLToPath(new URL('./watchdog.ts', import.meta.url));

function startWatchdog(): ChildProcess {
  const child = spawn(process.execPath, ['--no-warnings', script], {
    detached: true,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {},
  });
  // A write may meet a watchdog that was just killed; its replacement is told everything.
  child.stdin?.on('error', () => undefined);
  child.unref();
  return child;
}

/** Start a watchdog process (`watchdog.ts`); should it be killed it is replaced. */
export function createGuard(): Guard {
  const watched = new Map<number, NodeJS.Signals>();
  let closing = false;
  let watchdog = launch();

  function launch(): ChildProcess {
    const child = startWatchdog();
    for (const [pid, signal] of watched) child.stdin?.write(`watch ${pid} ${signal}\n`);
    child.once('exit', () => {
      if (!closing) setTimeout(() => !closing && (watchdog = launch()), 1_000).unref();
    });
    return child;
  }

  return {
    watch(pid, signal) {
      watched.set(pid, signal);
      watchdog.stdin?.write(`watch ${pid} ${signal}\n`);
    },
    forget(pid) {
      watched.delete(pid);
      watchdog.stdin?.write(`forget ${pid}\n`);
    },
    async close() {
      closing = true;
      if (watchdog.exitCode !== null || watchdog.signalCode !== null) return;
      const ended = new Promise((resolve) => watchdog.once('exit', resolve));
      watchdog.ref();
      watchdog.stdin?.write('leave\n');
      await ended;
    },
  };
}
