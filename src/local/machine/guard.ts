import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { endProcess } from './os-process.ts';

/** Makes sure that what this process starts does not outlive it. */
export interface Guard {
  /**
   * End `pid` by `signal`, later by SIGKILL, should this process die.
   * @param atOnce what ends it where there is no time to finish anything, SIGKILL by default
   */
  watch(pid: number, signal: NodeJS.Signals, atOnce?: NodeJS.Signals): void;
  /** Call when it has ended: ids are used again. */
  forget(pid: number): void;
  /** End all that is watched without letting it finish what it does; resolves when it has ended. */
  endNow(): Promise<void>;
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

const AT_ONCE_MS = 3_000;

/** Start a watchdog process (`watchdog.ts`); should it be killed it is replaced. */
export function createGuard(): Guard {
  const watched = new Map<number, { signal: NodeJS.Signals; atOnce: NodeJS.Signals }>();
  let closing = false;
  let watchdog = launch();

  function launch(): ChildProcess {
    const child = startWatchdog();
    for (const [pid, { signal }] of watched) child.stdin?.write(`watch ${pid} ${signal}\n`);
    child.once('exit', () => {
      if (!closing) setTimeout(() => !closing && (watchdog = launch()), 1_000).unref();
    });
    return child;
  }

  return {
    watch(pid, signal, atOnce = 'SIGKILL') {
      watched.set(pid, { signal, atOnce });
      watchdog.stdin?.write(`watch ${pid} ${signal}\n`);
    },
    forget(pid) {
      watched.delete(pid);
      watchdog.stdin?.write(`forget ${pid}\n`);
    },
    async endNow() {
      await Promise.all([...watched].map(([pid, { atOnce }]) => endProcess(pid, [atOnce], AT_ONCE_MS)));
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
