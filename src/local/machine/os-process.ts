import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { systemCode } from './local-error.ts';

const run = promisify(execFile);

/** Ended, and only kept until its parent asks for its exit code. */
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
  } catch {
    return false;
  }
}

/** Whether a process with this id runs, whoever owns it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (systemCode(error) !== 'EPERM') return false;
  }
  return !isZombie(pid);
}

/** @returns the command line of a process, or an empty string where there is none */
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

/**
 * What tells a process from another that gets its id later.
 * @returns an empty string where there is no such process
 */
export async function startMark(pid: number): Promise<string> {
  try {
    if (process.platform === 'linux') {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
      // Field 22 of proc(5), its start time; the name in field 2 may hold spaces.
      return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
    }
    const { stdout } = await run('ps', ['-o', 'lstart=', '-p', String(pid)]);
    return stdout.trim();
  } catch {
    return '';
  }
}

/** Signal a process that may be gone. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone already, which is what a signal to end it asks for.
  }
}

/** @returns whether it ended within `limitMs` */
export async function waitForEnd(pid: number, limitMs: number): Promise<boolean> {
  const end = Date.now() + limitMs;
  while (isAlive(pid)) {
    if (Date.now() >= end) return false;
    await delay(50);
  }
  return true;
}

/**
 * End a process: politely, then by SIGKILL.
 * @param polite signals in order, each given `graceMs`
 */
export async function endProcess(pid: number, polite: NodeJS.Signals[], graceMs: number): Promise<void> {
  for (const name of polite) {
    signal(pid, name);
    if (await waitForEnd(pid, graceMs)) return;
  }
  signal(pid, 'SIGKILL');
  await waitForEnd(pid, 5_000);
}
