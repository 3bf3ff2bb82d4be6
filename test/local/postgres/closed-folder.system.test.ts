// A checkout that only root can enter starts, and keeps its database outside the checkout.
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { DevFile } from '../../../src/local/home/dev-file.ts';
import { createGuard, type Guard } from '../../../src/local/machine/guard.ts';
import { OPEN_FOLDER, removeLinkedData } from '../../../src/local/postgres/location.ts';
import { startPostgres } from '../../../src/local/postgres/server.ts';
import { createOpenFolder } from '../../support/open-folder.ts';

const repository = fileURLToPath(new URL('../../../', import.meta.url));
const START_MS = 240_000;
const asRoot = process.getuid?.() === 0 ? describe : describe.skip;

async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

asRoot('a checkout that only root can enter', () => {
  // As on a fresh server: /root has the mode 0700.
  const closed = mkdtempSync(join(tmpdir(), 'carillon-closed-'));
  const checkout = join(closed, 'carillon');
  const home = join(checkout, '.carillon');
  /** Not the folder of all tests: the checkout has another path each time, and the cache knows a module by its path. */
  const compiled = join(closed, 'compiled');
  const data = () => realpathSync(join(home, 'postgres', 'data'));
  let made: string;

  beforeAll(() => {
    mkdirSync(checkout);
    for (const part of ['src', 'workflows', 'activities', 'migrations', 'package.json']) {
      cpSync(join(repository, part), join(checkout, part), { recursive: true });
    }
    // Hard links: a copy of the dependencies would take long.
    execFileSync('cp', [
      '-al',
      realpathSync(join(repository, 'node_modules')),
      join(checkout, 'node_modules'),
    ]);
  }, START_MS);
  afterAll(() => rmSync(closed, { recursive: true, force: true }));

  /** Starts everything there, runs `work`, and stops it. */
  async function run<T>(args: string[], work: (dev: DevFile, output: string) => Promise<T>): Promise<T> {
    const { PATH, HOME, CARILLON_CACHE, XDG_CACHE_HOME } = process.env;
    const ports = {
      PORT: '0',
      MAIL_PORT: '0',
      SUBMISSION_PORTS: '0',
      POSTGRES_PORT: '0',
      TEMPORAL_PORT: '0',
      TEMPORAL_UI_PORT: '0',
      MAILBOX_PORT: '0',
    };
    const child = spawn(process.execPath, ['--no-warnings', 'src/main.ts', 'start', '--dev', ...args], {
      cwd: checkout,
      env: { PATH, HOME, CARILLON_CACHE, XDG_CACHE_HOME, NODE_COMPILE_CACHE: compiled, ...ports },
    });
    let output = '';
    const ended = new Promise((done) => child.once('close', done));
    await new Promise<void>((done) => {
      const read = (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes('Carillon is running.')) done();
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      void ended.then(() => done());
    });
    try {
      expect(output).toContain('Carillon is running.');
      return await work(JSON.parse(readFileSync(join(home, 'dev.json'), 'utf8')) as DevFile, output);
    } finally {
      child.kill('SIGTERM');
      await ended;
    }
  }

  it(
    'starts, with the database outside of it',
    async () => {
      expect(statSync(closed).mode & 0o777).toBe(0o700);
      await run([], async (dev, output) => {
        made = dirname(data());
        expect(dirname(made)).toBe(OPEN_FOLDER);
        expect(output).toContain(`the database is in ${data()}`);
        const account = await fetch(`${dev.base_url}/v1/my/account`, {
          headers: { authorization: `Bearer ${dev.api_key}` },
        });
        expect(account.status).toBe(200);
        await query(dev.database_url, 'create table kept (n int)');
      });
    },
    START_MS,
  );

  it(
    'keeps the data over a restart',
    async () => {
      await run([], async (dev) => {
        expect(await query(dev.database_url, 'select * from kept')).toEqual([]);
        expect(dirname(data())).toBe(made);
      });
    },
    START_MS,
  );

  it(
    'removes the data by --reset',
    async () => {
      await run(['--reset'], async (dev) => {
        await expect(query(dev.database_url, 'select * from kept')).rejects.toMatchObject({ code: '42P01' });
        expect(existsSync(made)).toBe(false);
        made = dirname(data());
        expect(basename(made)).toMatch(/^postgres-/);
      });
      rmSync(made, { recursive: true });
    },
    START_MS,
  );
});

asRoot('a database in a folder that only root can enter', () => {
  let guard: Guard;
  let closed: string;
  let openFolder: string;
  beforeAll(() => {
    guard = createGuard();
  });
  afterAll(() => guard.close());
  beforeEach(() => {
    closed = mkdtempSync(join(tmpdir(), 'carillon-closed-'));
    openFolder = createOpenFolder('carillon-open-');
  });
  afterEach(() => {
    for (const folder of [closed, openFolder]) rmSync(folder, { recursive: true, force: true });
  });

  const start = (name: string) =>
    startPostgres({ folder: join(closed, name), openFolder, port: 0, guard, sharedBuffersMb: 32 });

  it(
    'moves the data that was made before the folder was closed',
    async () => {
      chmodSync(closed, 0o755);
      const before = await start('home');
      await query(before.url(), 'create table kept (n int)');
      await before.stop();
      expect(before.dataFolder).toBe(join(closed, 'home', 'data'));
      chmodSync(closed, 0o700);
      const after = await start('home');
      expect(dirname(dirname(after.dataFolder))).toBe(openFolder);
      expect(await query(after.url(), 'select * from kept')).toEqual([]);
      await after.stop();
    },
    START_MS,
  );

  it(
    'is found again after the folder was renamed',
    async () => {
      const { dataFolder, stop } = await start('home');
      await stop();
      renameSync(join(closed, 'home'), join(closed, 'renamed'));
      const renamed = await start('renamed');
      expect(renamed.dataFolder).toBe(dataFolder);
      await renamed.stop();
    },
    START_MS,
  );

  it(
    'is not shared with a copy of the folder, and outlives it',
    async () => {
      const server = await start('home');
      cpSync(join(closed, 'home'), join(closed, 'copy'), { recursive: true, verbatimSymlinks: true });
      await expect(start('copy')).rejects.toThrow(/links to the database of .*home: start over.*--reset/);
      await removeLinkedData(join(closed, 'copy'), () => Promise.reject(new Error('ended the server')));
      expect(await query(server.url(), 'select 1 as one')).toEqual([{ one: 1 }]);
      await server.stop();
    },
    START_MS,
  );
});
