import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { Guard } from '../../../src/local/machine/guard.ts';
import { signal, waitForEnd } from '../../../src/local/machine/os-process.ts';
import { startPostgres } from '../../../src/local/postgres/server.ts';

const run = promisify(execFile);

function parentOf(pid: string): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return null;
  }
}

async function childrenOf(pid: number): Promise<number[]> {
  if (process.platform === 'linux') {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return pids.filter((each) => parentOf(each) === pid).map(Number);
  }
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=']);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  return rows.filter(([, parent]) => parent === pid).map(([child]) => child as number);
}

/** SIGKILL for a PostgreSQL server and everything it started; none of them gets to say a last word. */
export async function killCluster(postmaster: number): Promise<void> {
  // Stopped first, so that it neither starts another nor tells its children of anything.
  signal(postmaster, 'SIGSTOP');
  const family = [...(await childrenOf(postmaster)), postmaster];
  for (const pid of family) signal(pid, 'SIGKILL');
  for (const pid of family) {
    if (!(await waitForEnd(pid, 10_000))) throw new Error(`process ${pid} outlives its SIGKILL`);
  }
}

/** Ids of the messages that senders had in hand. */
export interface Held {
  /** Covered by an intent: perhaps with the provider already. */
  intended: number[];
  claimed: number[];
}

/** @param owner a process's id; everybody's where it is not given */
export async function heldBy(client: pg.Client, owner?: number): Promise<Held> {
  const { rows } = await client.query<{ id: number; intended: boolean }>(
    `select unnest(message_ids) as id, true as intended from handovers where $1::bigint is null or owner = $1
     union all
     select message_id, false from send_queue where case when $1 is null then owner is not null else owner = $1 end`,
    [owner ?? null],
  );
  const idsOf = (intended: boolean) => rows.filter((row) => row.intended === intended).map((row) => row.id);
  return { intended: idsOf(true), claimed: idsOf(false) };
}

/**
 * Read from a copy of a killed cluster's data that recovers by itself: the cluster is left as the kill left it.
 * @param folder as given to `startPostgres`
 */
export async function readCopy<T>(
  folder: string,
  guard: Guard,
  read: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const copies = join(folder, '..', 'copies');
  await mkdir(copies, { recursive: true, mode: 0o755 });
  const copy = await mkdtemp(join(copies, 'copy-'));
  try {
    await run('chmod', ['755', copy]);
    await run('cp', ['-a', join(folder, 'data'), join(folder, 'password'), copy]);
    const server = await startPostgres({ folder: copy, port: 0, guard, durable: false });
    try {
      const client = new pg.Client({ connectionString: server.url() });
      await client.connect();
      try {
        return await read(client);
      } finally {
        await client.end();
      }
    } finally {
      await server.stop();
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}
