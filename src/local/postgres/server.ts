import { spawn, type ChildProcess } from 'node:child_process';
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import type { Guard } from '../machine/guard.ts';
import { cannotWrite, LocalError } from '../machine/local-error.ts';
import { commandLine, endProcess, isAlive } from '../machine/os-process.ts';
import { claimPort } from '../machine/ports.ts';
import { keptSecret, readIfThere } from '../machine/secret-file.ts';
import type { OsUser } from './account.ts';
import { chooseLocation, dataFolderOf, OPEN_FOLDER, type ServerLocation } from './location.ts';
import { majorVersionOf } from './programs.ts';

interface PostgresOptions {
  /** The folder of `data` and `password`; created if it is missing. */
  folder: string;
  /** The port on 127.0.0.1; 0 for any free one. */
  port: number;
  guard: Guard;
  /** If false, the server is faster, but a power failure may lose data. For tests that do not kill the database. */
  durable?: boolean;
  sharedBuffersMb?: number;
  /** Called with each line that the server writes. */
  onLog?: (line: string) => void;
  /** Replaces {@link OPEN_FOLDER} in tests. */
  openFolder?: string;
}

/** A running server. */
export interface PostgresServer {
  readonly port: number;
  readonly pid: number;
  /** Path of the data. Outside Carillon's folder if the user who runs PostgreSQL cannot enter that. */
  readonly dataFolder: string;
  /** Returns the URL of a database, by default of the one named `postgres`. */
  url(database?: string): string;
  /** Resolves when the server has ended, for any reason. */
  readonly ended: Promise<void>;
  /** Shuts down fast: closes all connections, and writes everything to disk. */
  stop(): Promise<void>;
}

const USER = 'carillon';
const START_LIMIT_MS = 120_000;

function startProgram(program: string, args: string[], user: OsUser | null): ChildProcess {
  return spawn(program, args, {
    ...user,
    cwd: '/',
    // In its own process group: Ctrl-C in the terminal must reach the supervisor first.
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
    throw cannotWrite(folder, error);
  }
}

/** Creates the data folder under another name and then renames it: an interrupted start leaves nothing half done. */
async function initialise({ folder, programs, user }: ServerLocation, password: string): Promise<void> {
  const draft = join(folder, 'data.new');
  const passwordFile = join(folder, 'password.new');
  await rm(draft, { recursive: true, force: true });
  await rm(passwordFile, { force: true });
  await mkdir(draft, { mode: 0o700 });
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  if (user) {
    await chown(draft, user.uid, user.gid);
    await chown(passwordFile, user.uid, user.gid);
  }
  const args = [
    `--pgdata=${draft}`,
    `--username=${USER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
  ];
  args.push('--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8');
  try {
    await untilDone(startProgram(programs.initdb, args, user));
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
      // It may repeat a line for each program that it looks for.
      const lines = new Set(output.trim().split('\n'));
      reject(new LocalError(`PostgreSQL's initdb failed: ${[...lines].join(' ')}`));
    });
  });
}

/**
 * Ends a server that an earlier run left behind, and removes its pid file.
 * @param folder as in {@link PostgresOptions}
 */
export async function endLeftoverPostgres(folder: string): Promise<void> {
  const dataFolder = await dataFolderOf(resolve(folder));
  const pidFile = join(dataFolder, 'postmaster.pid');
  const pid = Number((await readIfThere(pidFile))?.split('\n')[0]);
  if (!pid) return;
  if (isAlive(pid) && (await commandLine(pid)).includes(dataFolder)) {
    await endProcess(pid, ['SIGINT', 'SIGQUIT'], 10_000);
  }
  // After a reboot another program may have the id in the pid file, and PostgreSQL would refuse to start beside it.
  if (!isAlive(pid) || !(await commandLine(pid)).includes('postgres')) await rm(pidFile, { force: true });
}

/** Writes little, and waits for no disk. */
const VOLATILE = {
  fsync: 'off',
  full_page_writes: 'off',
  max_wal_size: '256MB',
};

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
    ...(durable ? {} : VOLATILE),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return ['-D', dataFolder, '-p', String(port), ...flags];
}

interface Launch {
  child: ChildProcess;
  ended: Promise<void>;
  /** Why the server did not start, or null if it did. */
  failure: string | null;
}

/** Starts the server, and waits until it accepts connections or gives up. */
async function launch(
  program: string,
  args: string[],
  user: OsUser | null,
  options: PostgresOptions,
): Promise<Launch> {
  const child = startProgram(program, args, user);
  const problems: string[] = [];
  const ended = new Promise<void>((done) => {
    child.once('exit', () => done());
    child.once('error', (error) => (problems.push(error.message), done()));
  });
  if (child.pid !== undefined) {
    const pid = child.pid;
    // No SIGKILL: the server's child processes would outlive it until they notice.
    options.guard.watch(pid, 'SIGINT', 'SIGQUIT');
    void ended.then(() => options.guard.forget(pid));
  }
  const ready = new Promise<boolean>((done) => {
    const lines = createInterface({ input: child.stderr as NodeJS.ReadableStream });
    lines.on('line', (line) => {
      options.onLog?.(line);
      if (/FATAL|PANIC/.test(line)) problems.push(line.replace(/^.*?(FATAL|PANIC):\s*/, ''));
      // A standby accepts only reads.
      if (/ready to accept (read-only )?connections/.test(line)) done(true);
    });
    lines.once('close', () => done(false));
  });
  const up = await Promise.race([ready, delay(START_LIMIT_MS, false, { ref: false })]);
  if (!up && child.pid !== undefined) await endProcess(child.pid, ['SIGQUIT'], 5_000);
  return { child, ended, failure: up ? null : (problems.at(-1) ?? 'it ended without a message') };
}

/** Retries for a while: after a crash, the old backends keep the shared memory for a moment. */
async function launchWithRetries(
  program: string,
  args: string[],
  user: OsUser | null,
  options: PostgresOptions,
): Promise<Launch> {
  const end = Date.now() + 15_000;
  for (;;) {
    const launched = await launch(program, args, user, options);
    if (launched.failure === null || !/still in use/.test(launched.failure) || Date.now() > end)
      return launched;
    await delay(250);
  }
}

/**
 * Creates the password and the data folder if they are missing. Returns the password.
 * @param folder as in {@link PostgresOptions}; the password is there, wherever the data is
 */
async function ensureData(folder: string, location: ServerLocation): Promise<string> {
  const hasData = await stat(join(location.folder, 'data')).then(
    () => true,
    () => false,
  );
  const passwordFile = join(folder, 'password');
  if (hasData && (await readIfThere(passwordFile)) === undefined) {
    throw new LocalError(`${passwordFile} is missing: restore it, or start over with npm start -- --reset`);
  }
  const password = await keptSecret(passwordFile, 24);
  if (!hasData) await initialise(location, password);
  return password;
}

/**
 * Starts an embedded PostgreSQL on 127.0.0.1. Its data stays between runs. Started by root, it runs as the user
 * `postgres`.
 * @throws LocalError with what to do, if the port is taken, the folder cannot be written or the data is damaged
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const folder = resolve(options.folder);
  await prepareFolder(folder);
  await endLeftoverPostgres(folder);
  const location = await chooseLocation(folder, options.openFolder ?? OPEN_FOLDER);
  const dataFolder = join(location.folder, 'data');
  const port = await claimPort(options.port, 'POSTGRES_PORT');
  const password = await ensureData(folder, location);
  const args = serverArguments(dataFolder, port, options);
  const launched = await launchWithRetries(location.programs.postgres, args, location.user, options);
  if (launched.failure !== null)
    throw await explainFailure(launched.failure, dataFolder, location.programs.postgres);
  const pid = launched.child.pid as number;
  return {
    port,
    pid,
    dataFolder,
    ended: launched.ended,
    url: (database = 'postgres') => `postgres://${USER}:${password}@127.0.0.1:${port}/${database}`,
    stop: () => endProcess(pid, ['SIGINT', 'SIGQUIT'], 20_000),
  };
}

/** @param installed the path of the program that does not start */
async function explainFailure(failure: string, dataFolder: string, installed: string): Promise<LocalError> {
  const version = (await readFile(join(dataFolder, 'PG_VERSION'), 'utf8').catch(() => '')).trim();
  const current = await majorVersionOf(installed);
  if (version !== '' && version !== current) {
    return new LocalError(
      `the database in ${dataFolder} was made by PostgreSQL ${version}, but this is PostgreSQL ${current}: copy it with pg_dump of a PostgreSQL ${version} (docs/operations.md, "Another version of PostgreSQL"), or start over with npm start -- --reset`,
    );
  }
  const state = version === '' ? 'is incomplete (no PG_VERSION)' : `does not start (${failure})`;
  return new LocalError(
    `the database in ${dataFolder} ${state}: restore that folder from a copy, or start over with npm start -- --reset`,
  );
}
