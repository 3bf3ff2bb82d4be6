import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { READY } from '../../src/local/supervisor/role-process.ts';

/** A program of this repository, run by a test. */
export interface Program {
  child: ChildProcess;
  /** Returns what it has written to both outputs so far. */
  output(): string;
  /** Resolves when the program reports that it is ready; rejects if it ends first. */
  ready(): Promise<void>;
  /** Resolves with its exit code, or with the signal that ended it. */
  ended: Promise<number | NodeJS.Signals>;
}

/**
 * Runs a TypeScript program of this repository.
 * @param file path from the repository's root
 * @param settings environment variables; besides them, the program gets only PATH, HOME and the folders of caches
 * @param input the program's standard input
 */
export function runProgram(
  file: string,
  args: string[],
  settings: Record<string, string> = {},
  input?: string,
): Program {
  const path = fileURLToPath(new URL(`../../${file}`, import.meta.url));
  const { PATH, HOME, CARILLON_CACHE, XDG_CACHE_HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, ['--no-warnings', path, ...args], {
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', 'ipc'],
    env: { PATH, HOME, CARILLON_CACHE, XDG_CACHE_HOME, NODE_COMPILE_CACHE, ...settings },
  });
  child.stdin?.end(input);
  let output = '';
  const collect = (stream: Readable | null): Promise<unknown> | undefined => {
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    return stream ? once(stream, 'end') : undefined;
  };
  // Do not wait for the event `close`: it is not emitted if the test closes the IPC channel.
  const written = Promise.all([collect(child.stdout), collect(child.stderr)]);
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const ended = Promise.all([exited, written]).then(([[code, signal]]) => code ?? signal ?? -1);
  const isReady = new Promise<void>((done) => child.on('message', (message) => message === READY && done()));
  const ready = async () => {
    const first = await Promise.race([isReady, ended]);
    if (first !== undefined) throw new Error(`the program ended with ${first}: ${output}`);
  };
  return { child, output: () => output, ready, ended };
}

/**
 * Repeats `look` until it finds something, and returns that.
 * @throws Error with the text of `describe` after `limitMs`
 */
export async function until<T>(
  look: () => T | undefined | null | false | Promise<T | undefined | null | false>,
  describe: () => string,
  limitMs = 40_000,
): Promise<T> {
  const end = Date.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (Date.now() > end) throw new Error(`waited ${limitMs} ms: ${describe()}`);
    await delay(50);
  }
}
