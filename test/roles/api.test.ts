// The API role registers its process while it serves, and leaves nothing behind when it stops or fails.
import net from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { loadConfig } from '../../src/config.ts';
import { run } from '../../src/roles/api.ts';
import { TEST_SECRET } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

async function listenAnywhere(): Promise<{ server: net.Server; port: number }> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return { server, port: (server.address() as net.AddressInfo).port };
}

const configOn = (port: number) =>
  loadConfig({ PORT: String(port), DATABASE_URL: test.url, APP_SECRET: TEST_SECRET, LOG_LEVEL: 'silent' });

async function registered(): Promise<string[]> {
  const { rows } = await test.database.pool.query<{ role: string }>('select role from processes');
  return rows.map((row) => row.role);
}

it('serves and registers its process, and removes both when it stops', async () => {
  const { server, port } = await listenAnywhere();
  await new Promise((resolve) => server.close(resolve));
  const role = await run(configOn(port));
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  expect(await registered()).toEqual(['api']);
  await role.stop();
  expect(await registered()).toEqual([]);
  await expect(fetch(`http://127.0.0.1:${port}/readyz`)).rejects.toThrow();
});

it('rejects if its port is taken, and leaves nothing behind', async () => {
  const { server, port } = await listenAnywhere();
  await expect(run(configOn(port))).rejects.toMatchObject({ code: 'EADDRINUSE' });
  expect(await registered()).toEqual([]);
  server.close();
});
