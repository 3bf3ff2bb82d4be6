import { execFileSync } from 'node:child_process';
import os from 'node:os';

/** Describes the machine and the commit. Without them, a figure has no meaning. */
export function describeMachine() {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
  return {
    commit: git('rev-parse', '--short', 'HEAD'),
    uncommitted_changes: git('status', '--porcelain') !== '',
    cpu: os.cpus()[0]?.model ?? 'unknown',
    cores: os.cpus().length,
    memory_gib: Math.round(os.totalmem() / 2 ** 30),
    node: process.version,
    load_average: os.loadavg().map((value) => Math.round(value * 100) / 100),
    at: new Date().toISOString(),
  };
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** @param share 0.5 for the median, 0.99 for p99 */
export function percentile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export function rounded(value: number, digits = 1): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}
