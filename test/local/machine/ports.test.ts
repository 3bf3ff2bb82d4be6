// The port check names every taken port with its setting, and leaves free ports usable.
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { claimPort, claimPorts } from '../../../src/local/machine/ports.ts';

const servers: Server[] = [];
beforeAll(async () => {
  for (const server of [createServer(), createServer()]) {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  }
});
afterAll(() => servers.forEach((server) => server.close()));

it('names every taken port with its setting, and leaves the others free', async () => {
  const [one, other] = servers.map((server) => (server.address() as AddressInfo).port) as [number, number];
  const free = await claimPort(0, 'MAILBOX_PORT');
  const claims = [
    { port: one, setting: 'PORT' },
    { port: free, setting: 'MAILBOX_PORT' },
    { port: other, setting: 'POSTGRES_PORT' },
  ];
  await expect(claimPorts(claims)).rejects.toThrow(
    [
      `port ${one} on 127.0.0.1 is taken by another program: stop that program, or set PORT to another port`,
      `port ${other} on 127.0.0.1 is taken by another program: stop that program, or set POSTGRES_PORT to another port`,
    ].join('\n'),
  );
  expect(await claimPort(free, 'MAILBOX_PORT')).toBe(free);
});

it('chooses free ports that no system gives to another program in the meantime', async () => {
  const ports = await claimPorts(
    ['PORT', 'MAIL_PORT', 'MAILBOX_PORT'].map((setting) => ({ port: 0, setting })),
  );
  expect(new Set(ports).size).toBe(3);
  expect(Math.max(...ports)).toBeLessThan(32_768);
});
