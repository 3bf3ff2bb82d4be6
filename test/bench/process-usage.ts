import { readdirSync, readFileSync } from 'node:fs';
import { rounded } from './machine.ts';

const TICKS_PER_SECOND = 100;

export interface Usage {
  cpuSeconds: number;
  /** Memory currently in use. */
  memoryMb: number;
  peakMemoryMb: number;
}

interface Stat {
  parent: number;
  cpuTicks: number;
  /** Processor ticks of its children that have ended. */
  endedTicks: number;
}

function readStat(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const ticks = (first: number) => (fields[first] ?? 0) + (fields[first + 1] ?? 0);
    return { parent: fields[1] ?? 0, cpuTicks: ticks(11), endedTicks: ticks(13) };
  } catch {
    return null;
  }
}

function memoryOf(pid: number): Pick<Usage, 'memoryMb' | 'peakMemoryMb'> {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const megabytes = (line: RegExp) => Number(line.exec(status)?.[1] ?? 0) / 1024;
    return { memoryMb: megabytes(/VmRSS:\s+(\d+) kB/), peakMemoryMb: megabytes(/VmHWM:\s+(\d+) kB/) };
  } catch {
    return { memoryMb: 0, peakMemoryMb: 0 };
  }
}

/** Returns what a process has used so far, without its children (Linux only). */
export function usageOf(pid: number): Usage {
  const stat = readStat(pid);
  return { cpuSeconds: (stat?.cpuTicks ?? 0) / TICKS_PER_SECOND, ...memoryOf(pid) };
}

/**
 * Returns what a process and its direct children have used, including children that have ended, such as a PostgreSQL
 * server with its backends. The memory is that of the largest process.
 */
export function usageOfFamily(pid: number): Usage {
  const pids = readdirSync('/proc')
    .map(Number)
    .filter((each) => Number.isInteger(each) && each > 0);
  const family = pids.filter((each) => each === pid || readStat(each)?.parent === pid);
  const ticks = family.reduce(
    (sum, each) => sum + (readStat(each)?.cpuTicks ?? 0),
    readStat(pid)?.endedTicks ?? 0,
  );
  const memory = family.map(memoryOf);
  return {
    cpuSeconds: ticks / TICKS_PER_SECOND,
    memoryMb: Math.max(...memory.map(({ memoryMb }) => memoryMb)),
    peakMemoryMb: Math.max(...memory.map(({ peakMemoryMb }) => peakMemoryMb)),
  };
}

/** Returns the processor time per unit of work in microseconds, from the usage before and after. */
export function cpuPer(before: Usage, after: Usage, count: number): number {
  return rounded(((after.cpuSeconds - before.cpuSeconds) / Math.max(1, count)) * 1e6);
}
