import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { endProcess } from './os-process.ts';

/** Ends the processes that this process started, even if this process is killed. */
export interface Guard {
  /**
   * If this process dies, ends `pid` by `signal`, and by SIGKILL if that is not enough.
   * @param atOnce the signal of {@link Guard.endNow}, which does not let the process finish; SIGKILL by default
   */
  watch(pid: number, signal: NodeJS.Signals, atOnce?: NodeJS.Signals): void;
  /** Call when the process has ended: the system reuses process ids. */
  forget(pid: number): void;
  /** Ends all watched processes without letting them finish their work; resolves when they have ended. */
  endNow(): Promise<void>;
  /** Stops watching, and ends the watchdog. */
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
  // A write may fail because the watchdog was just killed: its replacement gets the whole list.
  child.stdin?.on('error', () => undefined);
  child.unref();
  return child;
}

const AT_ONCE_MS = 3_000;

/** Is notified of the processes that the guard watches. */
interface GuardListener {
  add(pid: number): void;
  remove(pid: number): void;
}

/** Starts a watchdog process (`watchdog.ts`), and starts another if it is killed. */
export function createGuard(listener?: GuardListener): Guard {
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
      listener?.add(pid);
    },
    forget(pid) {
      watched.delete(pid);
      watchdog.stdin?.write(`forget ${pid}\n`);
      listener?.remove(pid);
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
