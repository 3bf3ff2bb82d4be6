import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import type { Guard } from '../machine/guard.ts';
import { LocalError } from '../machine/local-error.ts';
import { endProcess } from '../machine/os-process.ts';
import type { Running } from './managed.ts';

/**
 * Flags of Node for a role's process, before the program's name. A sender's messages outlive the young generation
 * while they wait for the provider; left to itself V8 lets what they leave behind grow to some 200 MB before it looks.
 * Here it looks first at 96 MB, and again whenever there is two and a half times what was in use. No limit: large
 * messages still get what they need.
 */
export function nodeFlagsOf(role: string): string[] {
  if (role !== 'sender') return [];
  return ['--max-semi-space-size=16', '--initial-old-space-size=96', '--heap-growing-percent=150'];
}

export interface RoleProcessOptions {
  role: string;
  /** Node and its arguments; the role's own flags and its name are added. */
  command: string[];
  environment: Record<string, string | undefined>;
  /** What a role may take to finish what it began. */
  graceMs: number;
  guard: Guard;
  /** What it may take to be ready, a minute by default. */
  startLimitMs?: number;
}

/** What a role says to its parent once it serves. */
export const READY = 'ready';

const START_LIMIT_MS = 60_000;
/** For one that never served, and so has nothing to finish. */
const UNREADY_GRACE_MS = 2_000;

function lateLine(role: string, limitMs: number): string {
  const what = `the role ${role} is not ready after ${limitMs / 1_000} s`;
  return `${what}: what it wrote is above, LOG_LEVEL=debug makes it write more; where this machine is only busy, start again`;
}

/**
 * Start a role as a process and wait until it says that it is ready.
 * @throws LocalError where it ends before that, or is not ready in time; it has then been ended
 */
export async function startRoleProcess(options: RoleProcessOptions): Promise<Running> {
  const { role, startLimitMs = START_LIMIT_MS } = options;
  const [program, ...args] = [...options.command, role];
  // A group of its own, so that Ctrl-C in the terminal reaches it only through us.
  const child = spawn(program, [...nodeFlagsOf(role), ...args], {
    detached: true,
    env: options.environment,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const pid = child.pid;
  if (pid === undefined) throw new LocalError(`${role} cannot be started: ${program} does not run`);
  options.guard.watch(pid, 'SIGTERM');
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  void ended.then(() => options.guard.forget(pid));
  const stop = () => endProcess(pid, ['SIGTERM'], options.graceMs);

  const said = new Promise<null>((done) => child.on('message', (message) => message === READY && done(null)));
  const problem = await Promise.race([
    said,
    ended.then(() => {
      const how = child.signalCode ?? `exit code ${child.exitCode}`;
      return `the role ${role} ended at once (${how}): what it wrote is above`;
    }),
    delay(startLimitMs, lateLine(role, startLimitMs), { ref: false }),
  ]);
  if (problem === null) return { pid, ended, stop };
  await endProcess(pid, ['SIGTERM'], UNREADY_GRACE_MS);
  throw new LocalError(problem);
}
