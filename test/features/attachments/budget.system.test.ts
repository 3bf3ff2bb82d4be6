// Many large messages at once get a 503 and succeed when they are repeated, while other requests are answered.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { TEST_SECRET, createTestTenant } from '../../support/api.ts';
import { scale } from '../../support/crash/scale.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { claimPorts } from '../../../src/local/machine/ports.ts';
import { type Program, runProgram } from '../../support/programs.ts';

const MAX_MEMORY_MB = 700;

let db: TestDatabase;
let home: string;
let port: number;
let api: Program;

beforeAll(async () => {
  [db, home] = await Promise.all([createTestDatabase(), mkdtemp(join(tmpdir(), 'carillon-home-'))]);
  const [own = 0, ops = 0] = await claimPorts([
    { port: 0, setting: 'PORT' },
    { port: 0, setting: 'OPS_PORT' },
  ]);
  port = own;
  api = runProgram('src/main.ts', ['start', 'api'], {
    DATABASE_URL: db.url,
    APP_SECRET: TEST_SECRET,
    CARILLON_HOME: home,
    PORT: String(port),
    OPS_PORT: String(ops),
    RATE_LIMIT_PER_KEY: '0',
    EMAIL_PROVIDER_URL: 'smtp://127.0.0.1:1?tls=off',
    LOG_FORMAT: 'json',
  });
  await api.ready();
}, 120_000);
afterAll(async () => {
  api.child.kill('SIGKILL');
  await api.ended;
  await Promise.all([db.drop(), rm(home, { recursive: true, force: true })]);
});

async function peakMemoryMb(pid: number | undefined): Promise<number> {
  const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}

it('refuses most of many requests of 9 MB at once, and accepts all when they are repeated', async () => {
  const { requests, accounts } = scale.largeBodies;
  const keys: string[] = [];
  for (let n = 0; n <= accounts; n += 1)
    keys.push((await createTestTenant(db.database, `Large ${n}`)).apiKey);
  const [other = '', ...senders] = keys;
  const load = runProgram('test/support/large-requests.ts', [
    String(port),
    String(requests),
    senders.join(','),
  ]);
  let isOver = false;
  void load.ended.then(() => (isOver = true));
  while (!isOver) {
    const headers = { Authorization: `Bearer ${other}` };
    const response = await fetch(`http://127.0.0.1:${port}/v1/my/account`, { headers });
    await response.text();
    expect(response.status).toBe(200);
  }
  expect([await load.ended, load.output()]).toEqual([0, expect.stringContaining('firstStatuses')]);
  const seen = JSON.parse(load.output()) as { firstStatuses: Record<string, number>; accepted: number };
  expect(seen.accepted).toBe(requests);
  expect(seen.firstStatuses['503']).toBeGreaterThan(requests / 2);
  expect(await peakMemoryMb(api.child.pid)).toBeLessThan(MAX_MEMORY_MB);
}, 600_000);
