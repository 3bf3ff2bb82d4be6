/** The processes that a start has begun, so that the next start knows of those that have not ended yet. */
import { z } from 'zod';
import { isAlive, startMark } from '../machine/os-process.ts';
import { readIfThere, writePrivateFile } from '../machine/secret-file.ts';

const processes = z.array(z.object({ pid: z.number().int(), mark: z.string() }));
type Recorded = z.infer<typeof processes>;

/** Keeps the ids of running processes in a file, each with a mark: the system reuses ids. */
export interface ProcessRecord {
  add(pid: number): void;
  remove(pid: number): void;
}

export function createProcessRecord(path: string): ProcessRecord {
  const running = new Map<number, string>();
  let last: Promise<unknown> = Promise.resolve();
  const write = (change: () => unknown): void => {
    last = last
      .then(change)
      .then(() => writePrivateFile(path, JSON.stringify([...running].map(([pid, mark]) => ({ pid, mark })))))
      // The record only makes the next start more patient.
      .catch(() => undefined);
  };
  return {
    add: (pid) => write(async () => running.set(pid, await startMark(pid))),
    remove: (pid) => write(() => running.delete(pid)),
  };
}

async function readRecord(path: string): Promise<Recorded> {
  try {
    return processes.parse(JSON.parse((await readIfThere(path)) ?? '[]'));
  } catch {
    return [];
  }
}

/** Returns the ids of the recorded processes that still run. */
export async function recordedRunning(path: string): Promise<number[]> {
  const running: number[] = [];
  for (const { pid, mark } of await readRecord(path)) {
    if (mark !== '' && isAlive(pid) && (await startMark(pid)) === mark) running.push(pid);
  }
  return running;
}
