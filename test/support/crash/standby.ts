import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import type { Guard } from '../../../src/local/machine/guard.ts';
import { startPostgres } from '../../../src/local/postgres/server.ts';
import { eventually } from '../eventually.ts';
import { startTcpGate } from '../tcp-gate.ts';
import { copyMigratedData, endDatabase, killCluster, readCopy } from './cluster.ts';
import type { StageDatabase } from './stage.ts';

const STANDBY = 'standby';
const FOLLOW_LIMIT_MS = 30_000;

async function query<T extends pg.QueryResultRow>(url: string, sql: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Creates a folder for `startPostgres` that follows a primary with the same data. */
async function copyAsStandby(folder: string, primary: URL): Promise<void> {
  await copyMigratedData(folder);
  const { port, username, password } = primary;
  const connection = `host=127.0.0.1 port=${port} user=${username} password=${password} application_name=${STANDBY}`;
  await appendFile(join(folder, 'data', 'postgresql.auto.conf'), `primary_conninfo = '${connection}'\n`);
  await writeFile(join(folder, 'data', 'standby.signal'), '');
}

/** From now on, the primary reports a commit only once the standby has it on disk. */
async function waitForStandby(url: string): Promise<void> {
  await query(url, `alter system set synchronous_standby_names = '${STANDBY}'`);
  await query(url, 'select pg_reload_conf()');
  await eventually(async () => {
    const [row] = await query<{ state: string }>(url, 'select sync_state as state from pg_stat_replication');
    if (row?.state !== 'sync') throw new Error(`the standby is ${row?.state ?? 'not connected'}`);
  }, FOLLOW_LIMIT_MS);
}

/**
 * Starts a primary with a synchronous standby behind one address. `restartable.kill` kills the primary for good, and
 * its connections fall silent as if its host had disappeared. `restartable.start` promotes the standby, which the
 * address then leads to.
 */
export async function startDatabaseWithStandby(folder: string, guard: Guard): Promise<StageDatabase> {
  const options = { guard, sharedBuffersMb: 128 };
  const folders = { primary: folder, standby: `${folder}-standby` };
  await copyMigratedData(folders.primary);
  const primary = await startPostgres({ ...options, folder: folders.primary, port: 0 });
  await copyAsStandby(folders.standby, new URL(primary.url()));
  const standby = await startPostgres({ ...options, folder: folders.standby, port: 0 });
  await waitForStandby(primary.url());
  const gate = await startTcpGate({ host: '127.0.0.1', port: primary.port });
  const url = new URL(primary.url());
  url.port = String(gate.port);
  return {
    url: url.href,
    async stop() {
      await gate.close();
      await Promise.all([endDatabase(primary), endDatabase(standby)]);
    },
    restartable: {
      async kill() {
        gate.silence();
        gate.shut();
        await killCluster(primary.pid);
      },
      async start() {
        await query(standby.url(), 'select pg_promote()');
        gate.leadTo({ host: '127.0.0.1', port: standby.port });
        gate.open();
      },
      readCopy: (read) => readCopy(folders.primary, guard, read),
    },
  };
}
