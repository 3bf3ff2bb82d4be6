import { readdirSync, readFileSync } from 'node:fs';
import { rounded } from './machine.ts';

const TICKS_PER_SECOND = 100;

export interface Usage {
  cpuSeconds: number;
  peakMemoryMb: number;
}

interface Stat {
  parent: number;
  cpuTicks: number;
}

function readStat(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    return { parent: fields[1] ?? 0, cpuTicks: (fields[11] ?? 0) + (fields[12] ?? 0) };
  } catch {
    return null;
  }
}

function peakMemoryMb(pid: number): number {
  try {
    const match = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return Number(match?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** Returns what a process has used so far, without its children (Linux only). */
export function usageOf(pid: number): Usage {
  const stat = readStat(pid);
  return { cpuSeconds: (stat?.cpuTicks ?? 0) / TICKS_PER_SECOND, peakMemoryMb: peakMemoryMb(pid) };
}

/** Returns what a process and its direct children have used, such as a PostgreSQL server with its backends. */
export function usageOfFamily(pid: number): Usage {
  const pids = readdirSync('/proc')
    .map(Number)
    .filter((each) => Number.isInteger(each) && each > 0);
  const family = pids.filter((each) => each === pid || readStat(each)?.parent === pid);
  const ticks = family.reduce((sum, each) => sum + (readStat(each)?.cpuTicks ?? 0), 0);
  return { cpuSeconds: ticks / TICKS_PER_SECOND, peakMemoryMb: Math.max(...family.map(peakMemoryMb)) };
}

/** Returns the processor microseconds per unit of work, from the usage before and after. */
export function cpuPer(before: Usage, after: Usage, count: number): number {
  return rounded(((after.cpuSeconds - before.cpuSeconds) / Math.max(1, count)) * 1e6);
}
