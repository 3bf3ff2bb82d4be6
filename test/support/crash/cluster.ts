import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { Guard } from '../../../src/local/machine/guard.ts';
import { endProcess, signal, waitForEnd } from '../../../src/local/machine/os-process.ts';
import { type PostgresServer, startPostgres } from '../../../src/local/postgres/server.ts';
import { askService } from '../ask-service.ts';
import type { DatabaseFolderService } from '../test-services.ts';

const run = promisify(execFile);

/**
 * Copies the data of a stopped server.
 * @param from a folder that was given to `startPostgres`
 * @param to another folder, which must not exist yet
 */
async function copyData(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o755 });
  await run('cp', ['-a', join(from, 'data'), join(from, 'password'), to]);
}

/** Creates a folder for `startPostgres` with a migrated, empty database. */
export async function copyMigratedData(to: string): Promise<void> {
  const { folder } = await askService<DatabaseFolderService>('database-folder');
  await copyData(folder, to);
}

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

/** Kills a PostgreSQL server and all its child processes with SIGKILL. */
export async function killCluster(postmaster: number): Promise<void> {
  // Stop the postmaster first, so that it does not react to the death of its children.
  signal(postmaster, 'SIGSTOP');
  const family = [...(await childrenOf(postmaster)), postmaster];
  for (const pid of family) signal(pid, 'SIGKILL');
  for (const pid of family) {
    if (!(await waitForEnd(pid, 10_000))) throw new Error(`process ${pid} survived SIGKILL`);
  }
}

/** Ends a server whose data is no longer needed: nothing is written to disk. */
export function endDatabase({ pid }: PostgresServer): Promise<void> {
  return endProcess(pid, ['SIGQUIT'], 10_000);
}

/** Ids of messages that senders had claimed. */
export interface ClaimedWork {
  /** Messages with an intent: the provider may have received them. */
  intended: number[];
  claimed: number[];
}

/** @param owner a process's id; by default the work of all processes is returned */
export async function claimedBy(client: pg.Client, owner?: number): Promise<ClaimedWork> {
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
 * Reads from a copy of a killed server's data, so that the data itself stays as the kill left it.
 * @param folder the folder that was given to `startPostgres`
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
    await copyData(folder, copy);
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
