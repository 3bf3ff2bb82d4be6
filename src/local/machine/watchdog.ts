/**
 * A process that ends other processes when its parent has died, even by SIGKILL.
 * Its parent writes lines to it: `watch <pid> <signal>` and `forget <pid>`. When its standard input
 * closes without `leave`, it sends every watched process its signal, and SIGKILL ten seconds later.
 */
import { createInterface } from 'node:readline';
import { endProcess } from './os-process.ts';

const GRACE_MS = 10_000;
const watched = new Map<number, NodeJS.Signals>();

function obey(line: string): void {
  const [verb, pid, signal] = line.split(' ');
  if (verb === 'watch') watched.set(Number(pid), signal as NodeJS.Signals);
  if (verb === 'forget') watched.delete(Number(pid));
  if (verb === 'leave') process.exit(0);
}

async function endAll(): Promise<void> {
  await Promise.all([...watched].map(([pid, signal]) => endProcess(pid, [signal], GRACE_MS)));
  process.exit(0);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
createInterface({ input: process.stdin })
  .on('line', obey)
  .on('close', () => void endAll());
