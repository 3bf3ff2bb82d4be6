import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import type { Guard } from '../machine/guard.ts';
import { cannotWrite, LocalError } from '../machine/local-error.ts';
import { commandLine, endProcess, isAlive } from '../machine/os-process.ts';
import { claimPort } from '../machine/ports.ts';
import { readIfThere } from '../machine/secret-file.ts';

interface EngineOptions {
  /** The program that `findEngineProgram` returns. */
  program: string;
  /** The folder of the engine's SQLite file; created if it is missing. */
  folder: string;
  /** The port of the gRPC service on 127.0.0.1; 0 for any free one. */
  port: number;
  /** The port of the Web UI; 0 for any free one, null for no Web UI. */
  uiPort: number | null;
  guard: Guard;
  onLog?: (line: string) => void;
}

/** A running development server. */
export interface EngineServer {
  /** `host:port` of the gRPC service. */
  readonly address: string;
  readonly port: number;
  readonly uiPort: number | null;
  readonly pid: number;
  /** Resolves when the server has ended, for any reason. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

const START_LIMIT_MS = 60_000;
/** By default gRPC waits a second before it reconnects to a server that is not listening yet. */
const CONNECT_AGAIN = { 'grpc.initial_reconnect_backoff_ms': 50, 'grpc.max_reconnect_backoff_ms': 50 };
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
 * Ends a server that an earlier run left behind.
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
    throw cannotWrite(folder, error);
  }
}

/** Waits until the server answers, and sets the retention of closed workflows. Resolves to whether it did. */
async function becomesReady(address: string, alive: () => boolean): Promise<boolean> {
  const end = Date.now() + START_LIMIT_MS;
  // Without interceptors the client does not retry calls on its own, so the loop notices that the server has ended.
  const connection = Connection.lazy({ address, channelArgs: CONNECT_AGAIN, interceptors: [] });
  const setRetention = () =>
    connection.workflowService.updateNamespace({
      namespace: 'default',
      // protobufjs accepts a number here, although its types require a Long.
      config: { workflowExecutionRetentionTtl: { seconds: RETENTION_SECONDS as never } },
    });
  try {
    while (alive() && Date.now() < end) {
      try {
        await connection.withDeadline(end, setRetention);
        return true;
      } catch {
        await delay(50);
      }
    }
    return false;
  } finally {
    await connection.close();
  }
}

/** What the server wrote. */
interface Output {
  /** The line that says why it ended: its first error, or else the last line. */
  reason: string;
  /** Whether it ended for a cause that may be gone at the next start. */
  passing: boolean;
}

/**
 * The server chooses its internal ports itself, and another program may take one before the server listens on it. The
 * server then logs the error and continues without the port, until it panics.
 */
const PASSING_CAUSE = /address already in use|^panic: /;
const ERROR_LINE = /level=ERROR|^panic: |^fatal error: /;
const MAX_STARTS = 3;

/** Reads the lines that the server writes, and passes each to `onLog`. Returns a function that summarizes them. */
function watchOutput(child: ChildProcess, onLog: (line: string) => void): () => Output {
  let error: string | undefined;
  let last = '';
  let passing = false;
  createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) => {
    if (line.trim() !== '') last = line.trim();
    if (ERROR_LINE.test(line)) error ??= last;
    passing ||= PASSING_CAUSE.test(line);
    onLog(line);
  });
  return () => ({ reason: error ?? last, passing });
}

type Started = EngineServer | { failed: Output };

/** Starts the server and waits until it answers. */
async function launch(options: EngineOptions, folder: string): Promise<Started> {
  const { file, pidFile } = filesOf(folder);
  const port = await claimPort(options.port, 'TEMPORAL_PORT');
  const uiPort = options.uiPort === null ? null : await claimPort(options.uiPort, 'TEMPORAL_UI_PORT');

  // In its own process group: Ctrl-C in the terminal must reach the supervisor first.
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
  const output = watchOutput(child, options.onLog ?? (() => undefined));
  const pid = child.pid;
  if (pid === undefined) throw new LocalError(`${options.program} cannot be started`);
  options.guard.watch(pid, 'SIGTERM');
  void ended.then(() => options.guard.forget(pid));
  await writeFile(pidFile, String(pid));
  const stop = () => endProcess(pid, ['SIGTERM'], 10_000);

  if (await becomesReady(`127.0.0.1:${port}`, () => running)) {
    return { address: `127.0.0.1:${port}`, port, uiPort, pid, ended, stop };
  }
  await stop();
  return { failed: output() };
}

/**
 * Starts Temporal's development server on 127.0.0.1. Its state stays in SQLite between runs.
 * @throws LocalError with what to do, if the port is taken, the folder cannot be written or the state is damaged
 */
export async function startEngine(options: EngineOptions): Promise<EngineServer> {
  const folder = resolve(options.folder);
  await prepareFolder(folder);
  await endLeftoverEngine(folder);
  for (let starts = 1; ; starts += 1) {
    const engine = await launch(options, folder);
    if (!('failed' in engine)) return engine;
    const { reason, passing } = engine.failed;
    if (starts < MAX_STARTS && passing) continue;
    throw new LocalError(
      `the Temporal engine does not start (${reason}): if ${filesOf(folder).file} is damaged, remove ${folder}; Carillon restores the engine's state from its database`,
    );
  }
}
