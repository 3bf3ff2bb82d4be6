import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { memoryEnvironmentOf, nodeFlagsOf } from '../../src/local/supervisor/role-process.ts';
import { usageOf, type Usage } from './process-usage.ts';

/** A child process whose usage can be measured. */
export interface Measured {
  pid: number;
  usage(): Usage;
  stop(): Promise<void>;
}

/** A child process that responds to each line of input with a line of JSON. */
export interface Interactive extends Measured {
  /** The line that it printed when it was ready. */
  first: Record<string, number>;
  ask(line: string): Promise<Record<string, number>>;
}

const OWN_FOLDER = fileURLToPath(new URL('../..', import.meta.url));

function pathOf(file: string, folder = OWN_FOLDER): string {
  return join(folder, file);
}

function measured(child: ChildProcess): Measured {
  const pid = child.pid ?? 0;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    pid,
    usage: () => usageOf(pid),
    async stop() {
      child.kill('SIGTERM');
      const force = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await ended;
      clearTimeout(force);
    },
  };
}

function nextLine(lines: Interface): Promise<Record<string, number>> {
  return new Promise((resolve) =>
    lines.once('line', (line: string) => resolve(JSON.parse(line) as Record<string, number>)),
  );
}

/**
 * Runs a program of this repository that prints `{"port":…}` when it is ready.
 * @param role the role that the program stands for; it gets that role's Node flags
 */
export async function startInteractive(file: string, args: string[] = [], role = ''): Promise<Interactive> {
  const child = spawn(process.execPath, ['--no-warnings', ...nodeFlagsOf(role), pathOf(file), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...memoryEnvironmentOf(role), ...process.env },
  });
  const lines = createInterface({ input: child.stdout });
  const first = await nextLine(lines);
  return {
    ...measured(child),
    first,
    ask: (line) => {
      const answer = nextLine(lines);
      child.stdin.write(`${line}\n`);
      return answer;
    },
  };
}

/**
 * Runs one role like `carillon start` does.
 * @param onLog called with each line that the role logs as an error
 * @param folder a checkout of this repository; by default this one
 */
export function startRole(
  role: string,
  settings: Record<string, string>,
  onLog?: (line: string) => void,
  folder?: string,
): Measured {
  const { PATH, HOME } = process.env;
  const flags = ['--no-warnings', ...nodeFlagsOf(role)];
  const child = spawn(process.execPath, [...flags, pathOf('src/main.ts', folder), 'start', role], {
    stdio: ['ignore', onLog ? 'pipe' : 'ignore', 'inherit'],
    env: { PATH, HOME, LOG_LEVEL: 'error', ...memoryEnvironmentOf(role), ...settings },
  });
  if (onLog && child.stdout) createInterface({ input: child.stdout }).on('line', onLog);
  return measured(child);
}
