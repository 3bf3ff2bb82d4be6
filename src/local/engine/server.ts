import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import type { Guard } from '../machine/guard.ts';
import { LocalError, systemCode } from '../machine/local-error.ts';
import { commandLine, endProcess, isAlive } from '../machine/os-process.ts';
import { claimPort } from '../machine/ports.ts';
import { readIfThere } from '../machine/secret-file.ts';

export interface EngineOptions {
  /** From `findEngineProgram`. */
  program: string;
  /** Holds the engine's SQLite file; made where missing. */
  folder: string;
  /** Of the gRPC service, on 127.0.0.1; 0 takes a free one. */
  port: number;
  /** Of the Web UI; 0 takes a free one, null leaves it out. */
  uiPort: number | null;
  guard: Guard;
  onLog?: (line: string) => void;
}

/** A running development server. */
export interface EngineServer {
  /** host:port of the gRPC service. */
  readonly address: string;
  readonly port: number;
  readonly uiPort: number | null;
  readonly pid: number;
  /** Resolves when the server has ended, for whatever reason. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

const START_LIMIT_MS = 60_000;
const RETENTION_SECONDS = 7 * 24 * 3_600;

function filesOf(folder: string): { file: string; pidFile: string } {
  return { file: join(resolve(folder), 'temporal.db'), pidFile: join(resolve(folder), 'pid') };
}

function serverArguments(file: string, port: number, uiPort: number | null): string[] {
  const args = ['server', 'start-dev', '--db-filename', file];
  args.push('--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=NORMAL');
  args.push('--ip', '127.0.0.1', '--port', String(port), '--log-level', 'warn');
  return [...args, ...(uiPort === null ? ['--headless'] : ['--ui-port', String(uiPort)])];
}

/**
 * A server that an earlier run left behind is ended.
 * @param folder as in {@link EngineOptions}
 */
export async function endLeftoverEngine(folder: string): Promise<void> {
  const { file, pidFile } = filesOf(folder);
  const pid = Number(await readIfThere(pidFile));
  if (pid && isAlive(pid) && (await commandLine(pid)).includes(file))
    await endProcess(pid, ['SIGTERM'], 10_000);
  await rm(pidFile, { force: true });
}

async function prepareFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    throw new LocalError(
      `cannot write to ${folder} (${systemCode(error)}): set CARILLON_HOME to a folder of yours`,
      {
        cause: error,
      },
    );
  }
}

/** Wait until the server answers, and keep closed workflows for a week. */
async function settle(address: string, alive: () => boolean): Promise<boolean> {
  const end = Date.now() + START_LIMIT_MS;
  while (alive() && Date.now() < end) {
    const connection = await Connection.connect({ address, connectTimeout: 1_000 }).catch(() => null);
    if (!connection) {
      await delay(100);
      continue;
    }
    try {
      await connection.workflowService.updateNamespace({
        namespace: 'default',
        // protobufjs takes a number here, although its types ask for a Long.
        config: { workflowExecutionRetentionTtl: { seconds: RETENTION_SECONDS as never } },
      });
      return true;
    } catch {
      await delay(100);
    } finally {
      await connection.close();
    }
  }
  return false;
}

function watchOutput(child: ChildProcess, onLog: (line: string) => void): () => string {
  let last = '';
  createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) => {
    if (line.trim() !== '') last = line.trim();
    onLog(line);
  });
  return () => last;
}

/**
 * Start Temporal's development server on 127.0.0.1, its state kept in SQLite between runs.
 * @throws LocalError saying what to do: port taken, folder not writable, state damaged
 */
export async function startEngine(options: EngineOptions): Promise<EngineServer> {
  const folder = resolve(options.folder);
  const { file, pidFile } = filesOf(folder);
  await prepareFolder(folder);
  await endLeftoverEngine(folder);
  const port = await claimPort(options.port, 'TEMPORAL_PORT');
  const uiPort = options.uiPort === null ? null : await claimPort(options.uiPort, 'TEMPORAL_UI_PORT');

  // A group of its own, so that Ctrl-C in the terminal does not reach it before us.
  const child = spawn(options.program, serverArguments(file, port, uiPort), {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let running = true;
  const ended = new Promise<void>((done) => {
    child.once('error', () => done());
    child.once('exit', () => done());
  }).then(() => void (running = false));
  const lastWords = watchOutput(child, options.onLog ?? (() => undefined));
  const pid = child.pid;
  if (pid === undefined) throw new LocalError(`${options.program} cannot be started`);
  options.guard.watch(pid, 'SIGTERM');
  void ended.then(() => options.guard.forget(pid));
  await writeFile(pidFile, String(pid));
  const stop = () => endProcess(pid, ['SIGTERM'], 10_000);

  if (!(await settle(`127.0.0.1:${port}`, () => running))) {
    await stop();
    throw new LocalError(
      `the Temporal engine does not start (${lastWords()}): if ${file} is damaged remove ${folder}, the engine's state is made again from the database`,
    );
  }
  return { address: `127.0.0.1:${port}`, port, uiPort, pid, ended, stop };
}
