import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** A program of ours that a test runs. */
export interface Program {
  child: ChildProcess;
  /** What it wrote on both outputs so far. */
  output(): string;
  /** Resolves with its exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals>;
}

/**
 * Run a TypeScript program of this repository.
 * @param file path from the repository's root
 * @param settings variables beside PATH and HOME; nothing else of ours is handed on
 */
export function runProgram(file: string, args: string[], settings: Record<string, string> = {}): Program {
  const path = fileURLToPath(new URL(`../../${file}`, import.meta.url));
  const { PATH, HOME, CARILLON_CACHE, XDG_CACHE_HOME } = process.env;
  const child = spawn(process.execPath, ['--no-warnings', path, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH, HOME, CARILLON_CACHE, XDG_CACHE_HOME, ...settings },
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<number | NodeJS.Signals>((done) => {
    child.once('close', (code, signal) => done(code ?? signal ?? -1));
  });
  return { child, output: () => output, ended };
}

/**
 * Wait until something holds.
 * @returns what `look` found
 * @throws Error after `limitMs`, with what `describe` says
 */
export async function until<T>(
  look: () => T | undefined | null | false | Promise<T | undefined | null | false>,
  describe: () => string,
  limitMs = 20_000,
): Promise<T> {
  const end = Date.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (Date.now() > end) throw new Error(`waited ${limitMs} ms: ${describe()}`);
    await delay(50);
  }
}
