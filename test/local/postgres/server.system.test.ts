// The embedded database commits to disk, protects its password, and explains how to repair damaged data.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createGuard, type Guard } from '../../../src/local/machine/guard.ts';
import { LocalError } from '../../../src/local/machine/local-error.ts';
import { startPostgres, type PostgresServer } from '../../../src/local/postgres/server.ts';
import { createOpenFolder } from '../../support/open-folder.ts';

let guard: Guard;
let folder: string;
/** A database that was created and stopped. */
let created: string;
beforeAll(async () => {
  guard = createGuard();
  created = createOpenFolder('carillon-postgres-');
  await (await start(created)).stop();
});
afterAll(async () => {
  await guard.close();
  rmSync(created, { recursive: true, force: true });
});
beforeEach(() => {
  folder = createOpenFolder('carillon-postgres-');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Puts a copy of the created database into the folder, with the owners of the files. */
function copyCreated(): void {
  execFileSync('cp', ['-a', join(created, 'postgres'), folder]);
}

function start(parent = folder): Promise<PostgresServer> {
  return startPostgres({ folder: join(parent, 'postgres'), port: 0, guard, sharedBuffersMb: 32 });
}

/** Starts it, expecting an error of one line. Returns the line. */
async function refusal(): Promise<string> {
  const error = await start().then(
    (server) => server.stop().then(() => new Error('it started')),
    (failure: Error) => failure,
  );
  expect(error).toBeInstanceOf(LocalError);
  expect(error.message).not.toContain('\n');
  return error.message;
}

describe('the embedded database', () => {
  it('keeps its password in a file for its owner only, and commits to disk', async () => {
    copyCreated();
    const server = await start();
    const file = join(folder, 'postgres', 'password');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(server.url()).toContain(readFileSync(file, 'utf8').trim());
    const client = new pg.Client({ connectionString: server.url() });
    await client.connect();
    const { rows } = await client.query<{ setting: string }>(
      `select name, setting from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit',
         'listen_addresses') order by name`,
    );
    await client.end();
    await server.stop();
    expect(rows.map((row) => row.setting)).toEqual(['on', 'on', '127.0.0.1', 'on']);
  });

  it('does not mistake a stale pid file for a running server', async () => {
    copyCreated();
    // This test's own process: it runs, and is not a database.
    writeFileSync(join(folder, 'postgres', 'data', 'postmaster.pid'), `${process.pid}\n`);
    await (await start()).stop();
  });

  it('says what to do if its data is damaged', async () => {
    copyCreated();
    truncateSync(join(folder, 'postgres', 'data', 'global', 'pg_control'), 100);
    const message = await refusal();
    expect(message).toContain(join(folder, 'postgres', 'data'));
    expect(message).toMatch(/does not start \(.+\).*--reset/);
  });

  it('says what to do if another version of PostgreSQL made its data', async () => {
    copyCreated();
    writeFileSync(join(folder, 'postgres', 'data', 'PG_VERSION'), '18\n');
    const message = await refusal();
    expect(message).toMatch(
      /was made by PostgreSQL 18, but this is PostgreSQL \d+: copy it .+ or start over .*--reset/,
    );
  });

  it('says what to do if its data is incomplete', async () => {
    mkdirSync(join(folder, 'postgres', 'data'), { recursive: true });
    writeFileSync(join(folder, 'postgres', 'password'), 'x\n');
    expect(await refusal()).toMatch(/is incomplete.*--reset/);
  });

  it('says what to do if its password is missing', async () => {
    copyCreated();
    rmSync(join(folder, 'postgres', 'password'));
    expect(await refusal()).toMatch(/password is missing.*--reset/);
  });

  it('reports a folder that cannot be written', async () => {
    writeFileSync(join(folder, 'postgres'), 'a file, not a folder');
    expect(await refusal()).toMatch(/cannot write to .*CARILLON_HOME/);
  });
});
