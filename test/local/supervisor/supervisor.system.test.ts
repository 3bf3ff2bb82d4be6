// A local installation restarts killed parts, keeps its data, and leaves no process behind however it ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { findApiKey } from '../../../src/features/api-keys/service.ts';
import type { DevFile } from '../../../src/local/home/dev-file.ts';
import { claimPorts } from '../../../src/local/machine/ports.ts';
import { isAlive, signal } from '../../../src/local/machine/os-process.ts';
import { openDatabase } from '../../../src/platform/db/database.ts';
import { createFastFolder } from '../../support/open-folder.ts';
import { runProgram, until, type Program } from '../../support/programs.ts';

const folder = createFastFolder('carillon-supervisor-');
const home = join(folder, 'home');
const freePorts = {
  PORT: '0',
  MAIL_PORT: '0',
  SUBMISSION_PORTS: '0',
  POSTGRES_PORT: '0',
  TEMPORAL_PORT: '0',
  TEMPORAL_UI_PORT: '0',
  MAILBOX_PORT: '0',
};
const programs: Program[] = [];

function run(args: string[] = [], settings: Record<string, string> = {}): Program {
  const program = runProgram('test/support/supervised.ts', args, {
    ...freePorts,
    CARILLON_HOME: home,
    ...settings,
  });
  programs.push(program);
  return program;
}

function devFile(): DevFile {
  return JSON.parse(readFileSync(join(home, 'dev.json'), 'utf8')) as DevFile;
}

async function untilUp(program: Program): Promise<DevFile> {
  await until(
    () => program.output().includes('"base_url"') || program.child.exitCode !== null,
    () => program.output(),
    60_000,
  );
  if (program.child.exitCode !== null) throw new Error(`the program ended: ${program.output()}`);
  return devFile();
}

async function query<Row extends pg.QueryResultRow>(text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: devFile().database_url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

function alivePids(pids: DevFile['pids']): number[] {
  return Object.values(pids).filter((pid): pid is number => pid !== null && isAlive(pid));
}

/** Removes what the last start wrote of itself. The database stays, so that the next start takes less time. */
function forgetRun(): void {
  rmSync(join(home, 'dev.json'), { force: true });
}

afterAll(async () => {
  for (const program of programs) program.child.kill('SIGKILL');
  await Promise.all(programs.map((program) => program.ended));
  rmSync(folder, { recursive: true, force: true });
});

describe('a running installation', () => {
  let program: Program;
  let first: DevFile;
  beforeAll(async () => {
    program = run();
    first = await untilUp(program);
  }, 90_000);

  it('writes dev.json, for its owner only', () => {
    expect(statSync(join(home, 'dev.json')).mode & 0o777).toBe(0o600);
    expect(Object.keys(first)).toEqual([
      'base_url',
      'console_url',
      'api_key',
      'email',
      'password',
      'account_id',
      'brand_id',
      'temporal_address',
      'temporal_ui_url',
      'database_url',
      'mailbox_url',
      'smtp_url',
      'pids',
    ]);
    expect(first.pids.mail).not.toBeNull();
    expect(alivePids(first.pids)).toHaveLength(7);
    expect(first.base_url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(first.console_url).toBe(`${first.base_url}/console`);
  });

  it('has a demo account with a high sending cap, a complete brand and a working key', async () => {
    const database = openDatabase({ url: first.database_url });
    const key = await findApiKey(database.pool, first.api_key);
    await database.close();
    expect(key).toMatchObject({ account_id: first.account_id, brand_id: first.brand_id, test: false });
    const [account] = await query(
      `select a.tier, a.sandbox_monthly_cap, b.brand_color, b.company_name, b.physical_address
       from accounts a join brands b on b.account_id = a.id where a.kind = 'customer'`,
    );
    expect(account).toMatchObject({
      tier: 'trusted',
      sandbox_monthly_cap: 1_000_000,
      brand_color: expect.stringMatching(/^#[0-9a-f]{6}$/),
      company_name: 'Demo',
      physical_address: expect.stringContaining('Rotterdam'),
    });
  });

  it('rejects a second start in the same home, in one line that names the process', async () => {
    const second = run();
    expect(await second.ended).toBe(1);
    expect(second.output()).toMatch(
      /^carillon: Carillon already runs in .* \(process \d+\): [^\n]*CARILLON_HOME[^\n]*\n$/,
    );
    expect(second.output()).toContain(String(program.child.pid));
  });

  it('restarts a killed database with its data', async () => {
    await query(`insert into accounts (name) values ('kept')`);
    const killed = devFile().pids.postgres as number;
    process.kill(killed, 'SIGKILL');
    const pid = await until(
      () => [devFile().pids.postgres].find((found) => found !== null && found !== killed),
      () => program.output(),
    );
    expect(isAlive(pid)).toBe(true);
    expect(await query(`select name from accounts where name = 'kept'`)).toHaveLength(1);
    expect(program.output()).toMatch(/postgres ended, restarting it/);
  });

  it.each(['temporal', 'api', 'worker', 'sender'] as const)(
    'restarts a killed %s, and logs it',
    async (name) => {
      const killed = devFile().pids[name] as number;
      process.kill(killed, 'SIGKILL');
      const pid = await until(
        () => [devFile().pids[name]].find((found) => found !== null && found !== killed),
        () => program.output(),
      );
      expect(isAlive(pid)).toBe(true);
      expect(program.output()).toContain(`${name} ended, restarting it`);
    },
  );

  it('leaves no process behind when it is stopped, and continues with its data at the next start', async () => {
    const { pids } = devFile();
    program.child.kill('SIGTERM');
    expect(await program.ended).toBe(0);
    expect(alivePids(pids)).toEqual([]);
    expect(Object.values(devFile().pids).every((pid) => pid === null)).toBe(true);

    program = run();
    const again = await untilUp(program);
    expect(again).toMatchObject({
      api_key: first.api_key,
      password: first.password,
      account_id: first.account_id,
    });
    expect(await query(`select name from accounts where name = 'kept'`)).toHaveLength(1);
  }, 60_000);

  it('leaves no process behind when it is killed itself', async () => {
    const { pids } = devFile();
    program.child.kill('SIGKILL');
    await until(
      () => alivePids(pids).length === 0,
      () => `still alive: ${alivePids(pids).join()}`,
    );
  });

  it('leaves no process behind when npm, which started it, is killed', async () => {
    const script = `"${process.execPath}" --no-warnings test/support/supervised.ts & wait`;
    const npm = spawn('sh', ['-c', script], {
      stdio: 'ignore',
      env: { ...process.env, ...freePorts, CARILLON_HOME: home, npm_lifecycle_event: 'start' },
    });
    const { pids } = await until(
      () => (alivePids(devFile().pids).length === 7 ? devFile() : null),
      () => 'it does not start',
      60_000,
    );
    const { pid } = JSON.parse(readFileSync(join(home, 'lock'), 'utf8')) as { pid: number };
    npm.kill('SIGKILL');
    await until(
      () =>
        !isAlive(pid) &&
        alivePids(pids).length === 0 &&
        Object.values(devFile().pids).every((each) => each === null),
      () => `still alive: ${[pid, ...alivePids(pids)].filter(isAlive).join()}`,
    ).finally(() => signal(pid, 'SIGKILL'));
  }, 90_000);

  it('starts over with --reset', async () => {
    program = run(['--reset']);
    const fresh = await untilUp(program);
    expect(fresh.api_key).not.toBe(first.api_key);
    expect(await query(`select name from accounts where name = 'kept'`)).toEqual([]);
    program.child.kill('SIGINT');
    expect(await program.ended).toBe(0);
    expect(alivePids(fresh.pids)).toEqual([]);
  }, 60_000);
});

describe('an installation that is asked to stop', () => {
  afterEach(forgetRun);

  it('waits for its roles, and at a second request ends at once with all its processes', async () => {
    // So long that the test only passes if the second request ends the wait.
    const program = run([], { FAKE_ROLE_STUBBORN: 'worker', SHUTDOWN_GRACE_SECONDS: '600' });
    const { pids } = await untilUp(program);
    program.child.kill('SIGINT');
    await until(
      () => !isAlive(pids.api ?? 0),
      () => program.output(),
    );
    await until(
      () =>
        /waiting for the worker to finish \(at most 610 s\); Ctrl-C ends this at once\n/.test(
          program.output(),
        ),
      () => program.output(),
    );
    expect(alivePids(pids)).toEqual(expect.arrayContaining([pids.worker, pids.temporal, pids.postgres]));
    program.child.kill('SIGINT');
    expect(await program.ended).toBe(130);
    expect(alivePids(pids)).toEqual([]);
    expect(Object.values(devFile().pids).every((pid) => pid === null)).toBe(true);
    expect(existsSync(join(home, 'lock'))).toBe(false);
  }, 60_000);

  it('counts a signal that both the terminal and npm send as one request', async () => {
    const program = run();
    const { pids } = await untilUp(program);
    program.child.kill('SIGINT');
    await delay(20);
    program.child.kill('SIGINT');
    expect(await program.ended).toBe(0);
    expect(alivePids(pids)).toEqual([]);
  }, 60_000);

  it('ends at once if it is still starting', async () => {
    const program = run([], { FAKE_ROLE_SILENT: 'worker' });
    const { pids } = await until(
      () => existsSync(join(home, 'dev.json')) && devFile().pids.sender !== null && devFile(),
      () => program.output(),
      60_000,
    );
    program.child.kill('SIGINT');
    expect(await program.ended).toBe(130);
    await until(
      () => alivePids(pids).length === 0,
      () => `still alive: ${alivePids(pids).join()}`,
    );
  }, 90_000);
});

describe('an installation that is started while a former one stops', () => {
  const gone = join(folder, 'gone');
  afterEach(() => {
    forgetRun();
    rmSync(gone, { force: true });
  });

  /** Starts one whose API needs until `gone` exists to stop, and another one on the same ports once `end` was called. */
  async function startAgainAfter(end: (first: Program) => Promise<unknown>): Promise<void> {
    const [port = 0] = await claimPorts([{ port: 0, setting: 'PORT' }]);
    const settings = { PORT: String(port), FAKE_API_STAYS: gone };
    const first = run([], settings);
    const { pids } = await untilUp(first);
    await end(first);
    const second = run([], settings);
    await until(
      () => /waiting for the former Carillon to stop/.test(second.output()),
      () => second.output(),
    );
    expect(alivePids(pids)).toContain(pids.api);
    forgetRun();
    writeFileSync(gone, '');
    const { pids: next } = await untilUp(second);
    expect(alivePids(next)).toHaveLength(7);
    second.child.kill('SIGINT');
    expect(await second.ended).toBe(0);
  }

  it('waits for it', async () => {
    await startAgainAfter((first) => {
      first.child.kill('SIGINT');
      // Until it has taken the request, it cannot be distinguished from one that continues.
      return until(
        () => devFile().pids.worker === null,
        () => first.output(),
      );
    });
  }, 120_000);

  it('waits for what it left if it was killed', async () => {
    await startAgainAfter((first) => {
      first.child.kill('SIGKILL');
      // Its output stays open as long as its roles run.
      return once(first.child, 'exit');
    });
  }, 120_000);
});

describe('an installation that cannot start', () => {
  afterEach(forgetRun);

  it.each([
    'PORT',
    'POSTGRES_PORT',
    'TEMPORAL_PORT',
    'TEMPORAL_UI_PORT',
    'MAILBOX_PORT',
    'MAIL_PORT',
    'SUBMISSION_PORTS',
  ])(
    'reports in one line that the port of %s is taken',
    async (setting) => {
      const taken = createServer().listen(0, '127.0.0.1');
      await once(taken, 'listening');
      try {
        const { port } = taken.address() as AddressInfo;
        const program = run([], { [setting]: String(port) });
        expect(await program.ended).toBe(1);
        expect(program.output()).toMatch(
          new RegExp(
            `^carillon: port ${port} on 127.0.0.1 is taken [^\\n]*set ${setting} to another port\\n$`,
          ),
        );
      } finally {
        taken.close();
      }
    },
    60_000,
  );

  it('stops everything it started if a role does not start', async () => {
    const program = run([], { FAKE_ROLE_FAILS: 'worker' });
    expect(await program.ended).toBe(1);
    expect(program.output()).toMatch(/^carillon: the worker role ended before it was ready \(exit code 3\)/m);
    expect(Object.values(devFile().pids).every((pid) => pid === null)).toBe(true);
  }, 60_000);
});
