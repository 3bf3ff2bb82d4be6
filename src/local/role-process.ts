import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import type { Guard } from './guard.ts';
import { LocalError } from './local-error.ts';
import type { Running } from './managed.ts';
import { endProcess } from './processes.ts';
import { nodeFlagsOf } from './role-flags.ts';

export interface RoleProcessOptions {
  role: string;
  /** Node and its arguments; the role's own flags and its name are added. */
  command: string[];
  environment: Record<string, string | undefined>;
  /** What a role may take to finish what it began. */
  graceMs: number;
  guard: Guard;
}

/** What a role says to its parent once it serves. */
export const READY = 'ready';

const START_LIMIT_MS = 60_000;

/**
 * Start a role as a process and wait until it says that it is ready.
 * @throws LocalError where it ends before that
 */
export async function startRoleProcess(options: RoleProcessOptions): Promise<Running> {
  const [program, ...args] = [...options.command, options.role];
  // A group of its own, so that Ctrl-C in the terminal reaches it only through us.
  const child = spawn(program, [...nodeFlagsOf(options.role), ...args], {
    detached: true,
    env: options.environment,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const pid = child.pid;
  if (pid === undefined) throw new LocalError(`${options.role} cannot be started: ${program} does not run`);
  options.guard.watch(pid, 'SIGTERM');
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  void ended.then(() => options.guard.forget(pid));
  const stop = () => endProcess(pid, ['SIGTERM'], options.graceMs);

  const outcome = await Promise.race([
    new Promise<string>((done) => child.on('message', (message) => message === READY && done(READY))),
    ended.then(() => `ended at once (${child.signalCode ?? `exit code ${child.exitCode}`})`),
    delay(START_LIMIT_MS, 'is not ready after a minute', { ref: false }),
  ]);
  if (outcome === READY) return { pid, ended, stop };
  await stop();
  throw new LocalError(`the role ${options.role} ${outcome}: what it wrote is above`);
}
