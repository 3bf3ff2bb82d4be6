// The command `carillon start --dev` prints a working key, login and URLs, and stops everything at SIGTERM.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DevFile } from '../../src/local/home/dev-file.ts';
import { isAlive } from '../../src/local/machine/os-process.ts';
import { createFastFolder } from '../support/open-folder.ts';
import { runProgram, until, type Program } from '../support/programs.ts';

describe('carillon start --dev', () => {
  const folder = createFastFolder('carillon-whole-');
  let program: Program;
  let dev: DevFile;
  beforeAll(async () => {
    program = runProgram('src/main.ts', ['start', '--dev'], {
      CARILLON_HOME: folder,
      PORT: '0',
      MAIL_PORT: '0',
      SUBMISSION_PORTS: '0',
      POSTGRES_PORT: '0',
      TEMPORAL_PORT: '0',
      TEMPORAL_UI_PORT: '0',
      MAILBOX_PORT: '0',
    });
    await until(
      () => program.output().includes('Carillon is running.') || program.child.exitCode !== null,
      () => program.output(),
      90_000,
    );
    dev = JSON.parse(readFileSync(join(folder, 'dev.json'), 'utf8')) as DevFile;
  }, 120_000);
  afterAll(async () => {
    program.child.kill('SIGKILL');
    await program.ended;
    rmSync(folder, { recursive: true, force: true });
  });

  it('prints the values of dev.json', () => {
    for (const shown of [
      dev.base_url,
      dev.api_key,
      dev.email,
      dev.password,
      dev.temporal_ui_url,
      dev.database_url,
    ]) {
      expect(program.output()).toContain(shown);
    }
  });

  it('accepts the key and the login that it printed', async () => {
    const account = await fetch(`${dev.base_url}/v1/my/account`, {
      headers: { authorization: `Bearer ${dev.api_key}` },
    });
    expect(account.status).toBe(200);
    expect(await account.json()).toMatchObject({
      id: dev.account_id,
      brand: { id: dev.brand_id, complete: true },
    });
    const login = await fetch(`${dev.base_url}/v1/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ user: { email: dev.email, password: dev.password } }),
    });
    expect(login.status).toBe(200);
  });

  it('serves the engine’s Web UI, and the mailbox page to a browser that has its token', async () => {
    expect((await fetch(dev.temporal_ui_url ?? '')).status).toBe(200);
    const mailbox = new URL(dev.mailbox_url ?? '');
    const opened = await fetch(mailbox, { redirect: 'manual' });
    const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
    expect((await fetch(mailbox.origin, { headers: { cookie } })).status).toBe(200);
    expect((await fetch(mailbox.origin)).status).toBe(401);
  });

  it('lets the command-line tool use the same installation', async () => {
    const command = runProgram(
      'src/main.ts',
      ['api-key', 'list', '--account', String(dev.account_id), '--json'],
      {
        CARILLON_HOME: folder,
      },
    );
    expect(await command.ended).toBe(0);
    expect(JSON.parse(command.output())).toMatchObject([{ name: 'demo', account_id: dev.account_id }]);
  });

  it('stops everything at SIGTERM', async () => {
    const pids = Object.values(dev.pids).filter((pid) => pid !== null);
    expect(pids).toHaveLength(7);
    program.child.kill('SIGTERM');
    expect(await program.ended).toBe(0);
    expect(pids.filter(isAlive)).toEqual([]);
  }, 60_000);
});
