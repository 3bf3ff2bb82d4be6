import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { childEnvironment } from '../../config.ts';
import type { Guard } from '../machine/guard.ts';
import { LocalError } from '../machine/local-error.ts';
import { endProcess } from '../machine/os-process.ts';
import type { Running } from './managed.ts';

/**
 * Messages that wait for the provider live long enough to reach V8's old generation. By default V8 lets the garbage
 * there grow to some 200 MB before it collects it. With these flags V8 first collects at 96 MB, and then whenever
 * memory reaches two and a half times what was in use.
 */
const SENDER_FLAGS = [
  '--max-semi-space-size=16',
  '--initial-old-space-size=96',
  '--heap-growing-percent=150',
];
/**
 * A worker has several heaps, one of them for workflows. By default the young generation of each grows to 48 MB or
 * more, and the old one to two and a half times what is in use. With these flags the old one grows to 1.3 times what is
 * in use. That saves half a gigabyte with thousands of active flow runs, and lowers the peak during an import and
 * campaigns of 100,000 from 418 to 341 MB, at the same speed.
 */
const WORKER_FLAGS = ['--max-semi-space-size=4', '--heap-growing-percent=30'];

/**
 * Of large mails, every piece that arrives is garbage soon. By default 48 MB of it piles up. With 40 mails of 25 MB at
 * once, this and the arenas below lower the peak from 457 to 347 MB.
 */
const SUBMISSION_FLAGS = ['--max-semi-space-size=4'];

const FLAGS: Readonly<Record<string, string[]>> = {
  sender: SENDER_FLAGS,
  submission: SUBMISSION_FLAGS,
  worker: WORKER_FLAGS,
};

/**
 * Returns the Node flags for a role's process, which keep its garbage small. They set no limit: a role
 * that needs more memory still gets it.
 */
export function nodeFlagsOf(role: string): string[] {
  return FLAGS[role] ?? [];
}

/** Returns environment variables that keep a role's memory small, unless they are set already. */
export function memoryEnvironmentOf(role: string): Record<string, string> {
  // By default each thread keeps freed memory in an arena of its own: the engine's library has many, and those that read
  // submitted mail free a lot.
  return role === 'worker' || role === 'submission' ? { MALLOC_ARENA_MAX: '2' } : {};
}

const nameOf = (flag: string) => flag.split('=')[0];

/**
 * Replaces this process with one that has the flags and the environment of its role. It keeps its process id, standard
 * streams and parent, so nothing outside notices. Flags that this process was given, also by NODE_OPTIONS, count instead.
 * Returns if none is missing, if a supervisor has started this process, or on Windows, which cannot do this.
 */
export function restartWithFlags(role: string): void {
  const environment = childEnvironment({});
  const given = new Set([...process.execArgv, ...(environment.NODE_OPTIONS ?? '').split(/\s+/)].map(nameOf));
  const flags = nodeFlagsOf(role).filter((flag) => !given.has(nameOf(flag)));
  if (flags.length === 0) return;
  // The channel to the supervisor would close.
  if (process.connected || process.platform === 'win32') return;
  process.execve?.(
    process.execPath,
    [process.execPath, ...flags, ...process.execArgv, ...process.argv.slice(1)],
    { ...memoryEnvironmentOf(role), ...environment },
  );
}

interface RoleProcessOptions {
  role: string;
  /** Node and its arguments, to which the role's flags and name are added. */
  command: string[];
  environment: Record<string, string | undefined>;
  /** How long a role may take to finish its work when it is stopped. */
  graceMs: number;
  guard: Guard;
  /** How long it may take to become ready; a minute by default. */
  startLimitMs?: number;
}

/** The message that a role sends to its parent when it is ready. */
export const READY = 'ready';

const START_LIMIT_MS = 60_000;
/** For a role that never became ready, and so has no work to finish. */
const UNREADY_GRACE_MS = 2_000;

function notReady(role: string, limitMs: number): string {
  const problem = `the ${role} role is not ready after ${limitMs / 1_000} s`;
  return `${problem}: see its output above (LOG_LEVEL=debug shows more); if this machine is just busy, start again`;
}

/**
 * Starts a role as a process, and waits until it is ready.
 * @throws LocalError if the process ends first or is not ready in time; it no longer runs then
 */
export async function startRoleProcess(options: RoleProcessOptions): Promise<Running> {
  const { role, startLimitMs = START_LIMIT_MS } = options;
  const [program, ...args] = [...options.command, role];
  // In its own process group: only the supervisor may react to Ctrl-C in the terminal.
  const child = spawn(program, [...nodeFlagsOf(role), ...args], {
    detached: true,
    env: { ...memoryEnvironmentOf(role), ...options.environment },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const pid = child.pid;
  if (pid === undefined) throw new LocalError(`the ${role} role cannot be started: ${program} does not run`);
  options.guard.watch(pid, 'SIGTERM');
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  void ended.then(() => options.guard.forget(pid));
  const stop = () => endProcess(pid, ['SIGTERM'], options.graceMs);

  const ready = new Promise<null>((done) =>
    child.on('message', (message) => message === READY && done(null)),
  );
  const problem = await Promise.race([
    ready,
    ended.then(() => {
      const how = child.signalCode ?? `exit code ${child.exitCode}`;
      return `the ${role} role ended before it was ready (${how}): see its output above`;
    }),
    delay(startLimitMs, notReady(role, startLimitMs), { ref: false }),
  ]);
  if (problem === null) return { pid, ended, stop };
  await endProcess(pid, ['SIGTERM'], UNREADY_GRACE_MS);
  throw new LocalError(problem);
}
