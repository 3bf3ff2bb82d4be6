import { spawn, type ChildProcess } from 'node:child_process';
import { openSync, closeSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Guard } from '../../../src/local/machine/guard.ts';
import { READY } from '../../../src/local/supervisor/role-process.ts';
import type { RoleName } from '../../../src/roles/names.ts';

interface RoleOptions {
  /** The name of its log. */
  name: string;
  role: RoleName;
  folder: string;
  settings: Record<string, string>;
  guard: Guard;
  /** The folder of the Carillon version to run; this one by default. */
  checkout?: string | undefined;
}

/** One role in a process of its own, like `carillon start <role>` runs it. */
export interface Role {
  readonly name: string;
  readonly pid: number;
  /** How many times it ended by itself. */
  readonly deaths: number;
  /** Resolves when the role is ready. */
  start(): Promise<void>;
  /** Sends SIGKILL before it returns. Resolves when the process has ended. */
  kill(): Promise<void>;
  /** Like {@link kill}, but first asks the process to finish its work, like an operator does. */
  stop(): Promise<void>;
  /** Returns the last lines of its log. */
  lastLines(): string;
  /** Returns its complete log. */
  log(): string;
}

/** On a machine that is running other tests, too, a role may take a minute to start. */
const START_LIMIT_MS = 180_000;
const ownCheckout = fileURLToPath(new URL('../../../', import.meta.url));

interface Life {
  child: ChildProcess;
  pid: number;
  ended: Promise<void>;
  /** Whether the test has ended it. */
  ending: boolean;
}

class RoleProcess implements Role {
  readonly name: string;
  deaths = 0;
  readonly #options: RoleOptions;
  readonly #log: string;
  #life: Life | null = null;

  constructor(options: RoleOptions) {
    this.#options = options;
    this.name = options.name;
    this.#log = join(options.folder, `${options.name}.log`);
  }

  get pid(): number {
    if (!this.#life) throw new Error(`${this.name} is not running`);
    return this.#life.pid;
  }

  async start(): Promise<void> {
    const life = this.#spawn();
    this.#life = life;
    const outcome = await Promise.race([
      new Promise<string>((done) => life.child.on('message', (message) => message === READY && done(READY))),
      life.ended.then(() => 'ended before it was ready'),
      delay(START_LIMIT_MS, `is not ready after ${START_LIMIT_MS / 1_000} s`, { ref: false }),
    ]);
    if (outcome !== READY) throw new Error(`${this.name} ${outcome}:\n${this.lastLines()}`);
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  async #end(by: NodeJS.Signals): Promise<void> {
    const life = this.#life;
    if (!life) return;
    life.ending = true;
    life.child.kill(by);
    await life.ended;
  }

  log(): string {
    return readFileSync(this.#log, 'utf8');
  }

  lastLines(): string {
    return this.log().trim().split('\n').slice(-20).join('\n');
  }

  #spawn(): Life {
    const { role, settings, guard, checkout = ownCheckout } = this.#options;
    const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
    const output = openSync(this.#log, 'a');
    const child = spawn(process.execPath, ['--no-warnings', join(checkout, 'src/main.ts'), 'start', role], {
      stdio: ['ignore', output, output, 'ipc'],
      env: { PATH, HOME, NODE_COMPILE_CACHE, ...settings },
    });
    closeSync(output);
    const { pid } = child;
    if (pid === undefined) throw new Error(`${this.name} cannot be started`);
    guard.watch(pid, 'SIGKILL');
    const life: Life = { child, pid, ending: false, ended: Promise.resolve() };
    life.ended = new Promise((done) => {
      child.once('exit', () => {
        guard.forget(pid);
        if (!life.ending) this.deaths += 1;
        done();
      });
    });
    return life;
  }
}

/** Returns a role that is not started yet. */
export function createRole(options: RoleOptions): Role {
  return new RoleProcess(options);
}
