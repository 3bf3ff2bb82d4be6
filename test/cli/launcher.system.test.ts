// The launcher: any Node.js may start the command, a role gets its flags, and ends with npm or with the launcher.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { commandLine, isAlive } from '../../src/local/machine/os-process.ts';
import { nodeFlagsOf } from '../../src/local/supervisor/role-process.ts';
import { until } from '../support/programs.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const launcher = join(root, 'src/cli/carillon.js');
/** Makes the launcher believe that an old Node.js runs it. */
const OLD_NODE = [
  '--import',
  "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.20.2'}})",
];

const started: ChildProcess[] = [];
const roles: number[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  for (const pid of roles.splice(0)) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
});

/** Starts a role whose database is down, and resolves to its process id once it waits for the database. */
async function startWaiting(program: string, args: string[], role: string, options = '') {
  const { PATH, HOME } = process.env;
  const child = spawn(program, [...args, 'start', role], {
    cwd: root,
    env: {
      PATH,
      HOME,
      NODE_OPTIONS: options,
      DATABASE_URL: 'postgres://ann@127.0.0.1:9/carillon',
      TEMPORAL_ADDRESS: '127.0.0.1:9',
      APP_SECRET: 'a secret of at least thirty-two characters',
      EMAIL_PROVIDER_URL: 'capture:',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const pid = await until(
    () => Number(/"pid":(\d+),"msg":"PostgreSQL at [^"]*waiting for it/.exec(output)?.[1]) || null,
    () => output,
  );
  roles.push(pid);
  const ended = new Promise<number | string | null>((done) =>
    child.once('exit', (code, signal) => done(code ?? signal)),
  );
  return { child, pid, ended };
}
const endOf = (pid: number) =>
  until(
    () => !isAlive(pid),
    () => `process ${pid} still runs`,
  );

it('ends a role when npm, which started it, gets SIGTERM', async () => {
  const { child, pid } = await startWaiting('npm', ['run', '-s', 'carillon', '--'], 'mail');
  child.kill('SIGTERM');
  await endOf(pid);
}, 60_000);

describe('an older Node.js', () => {
  it('runs every command with the Node.js of the project', () => {
    const { status, stdout } = spawnSync(process.execPath, [...OLD_NODE, launcher, '--version'], {
      encoding: 'utf8',
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: '0.1.0\n' });
  });

  it('returns the exit code of the command', () => {
    const { status, stderr } = spawnSync(process.execPath, [...OLD_NODE, launcher, 'sart'], {
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toContain("unknown command 'sart'");
  });

  it('says what is missing if the project has no Node.js', () => {
    const folder = mkdtempSync(join(tmpdir(), 'carillon-launcher-'));
    copyFileSync(launcher, join(folder, 'carillon.mjs'));
    const { status, stderr } = spawnSync(
      process.execPath,
      [...OLD_NODE, join(folder, 'carillon.mjs'), 'start'],
      { encoding: 'utf8' },
    );
    rmSync(folder, { recursive: true });
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^carillon: Node\.js 24 or newer is needed, and this is 20\.20\.2: run npm ci[^\n]*\n$/,
    );
  });

  it('passes signals on to a role, and ends as it ends', async () => {
    const { child, pid, ended } = await startWaiting(process.execPath, [...OLD_NODE, launcher], 'sender');
    expect(pid).not.toBe(child.pid);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(isAlive(pid)).toBe(false);
  }, 60_000);

  it('is not needed by the role: the role ends when it is killed', async () => {
    const { child, pid } = await startWaiting(process.execPath, [...OLD_NODE, launcher], 'sender');
    child.kill('SIGKILL');
    await endOf(pid);
  }, 60_000);
});

it.each(['sender', 'worker'])(
  'a %s gets its flags, and keeps its process id',
  async (role) => {
    const { child, pid } = await startWaiting(process.execPath, [launcher], role);
    expect(pid).toBe(child.pid);
    const line = await commandLine(pid);
    for (const flag of nodeFlagsOf(role)) expect(line).toContain(flag);
  },
  60_000,
);

it('lets flags of the user count', async () => {
  const { pid } = await startWaiting(process.execPath, ['--max-semi-space-size=32', launcher], 'worker');
  expect(await commandLine(pid)).toMatch(/ --heap-growing-percent=30 --max-semi-space-size=32 /);
}, 60_000);

it('lets NODE_OPTIONS count', async () => {
  const { pid } = await startWaiting(process.execPath, [launcher], 'worker', '--max-semi-space-size=32');
  const line = await commandLine(pid);
  expect(line).toContain('--heap-growing-percent=30');
  expect(line).not.toContain('--max-semi-space-size');
}, 60_000);

it('finishes a command whose reader has ended, without a stack trace', async () => {
  const child = spawn(process.execPath, [launcher, 'start', '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const code = await new Promise((done) => child.once('close', done));
  expect({ code, errors }).toEqual({ code: 0, errors: '' });
});
