import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { systemCode } from './local-error.ts';

const run = promisify(execFile);

/** Whether a process has ended but its parent has not yet read its exit code. */
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
  } catch {
    return false;
  }
}

/** Whether a process with this id runs, whichever user owns it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (systemCode(error) !== 'EPERM') return false;
  }
  return !isZombie(pid);
}

/** Returns the command line of a process, or an empty string if there is no such process. */
export async function commandLine(pid: number): Promise<string> {
  try {
    if (process.platform === 'linux') {
      return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ').trim();
    }
    const { stdout } = await run('ps', ['-o', 'args=', '-p', String(pid)]);
    return stdout.trim();
  } catch {
    return '';
  }
}

/** Returns a text that differs between two processes with the same id, or an empty string if there is no such process. */
export async function startMark(pid: number): Promise<string> {
  try {
    if (process.platform === 'linux') {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
      // Field 22 of proc(5), its start time. The name in field 2 may contain spaces.
      return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
    }
    const { stdout } = await run('ps', ['-o', 'lstart=', '-p', String(pid)]);
    return stdout.trim();
  } catch {
    return '';
  }
}

/** Signals a process that may have ended already. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended already.
  }
}

/** Resolves to whether the process ended within `limitMs`. */
export async function waitForEnd(pid: number, limitMs: number): Promise<boolean> {
  const end = Date.now() + limitMs;
  while (isAlive(pid)) {
    if (Date.now() >= end) return false;
    await delay(50);
  }
  return true;
}

/**
 * Ends a process.
 * @param polite signals to try in order; the process has `graceMs` after each, and gets SIGKILL at the end
 */
export async function endProcess(pid: number, polite: NodeJS.Signals[], graceMs: number): Promise<void> {
  for (const name of polite) {
    signal(pid, name);
    if (await waitForEnd(pid, graceMs)) return;
  }
  signal(pid, 'SIGKILL');
  await waitForEnd(pid, 5_000);
}
