// Connections are bounded for a process and an address, and a new one takes the place of the longest idle one.
import type { ServerResponse } from 'node:http';
import net from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { createConnectionLimits } from '../../../src/platform/http/connection-limits.ts';
import { listen, type Listening } from '../../../src/platform/http/listen.ts';
import { eventually } from '../../support/eventually.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

let server: Listening;
let pending: ServerResponse[];
let reports: { connections: number }[];
let clients: Client[];

interface Client {
  socket: net.Socket;
  state: 'open' | 'closed';
  seen: string;
}

async function start(limits: { max: number; maxPerAddress: number; proxies?: string[] }): Promise<void> {
  pending = [];
  reports = [];
  clients = [];
  const report = (facts: { connections: number }) => void reports.push(facts);
  const limiting = createConnectionLimits({ proxies: [], report, ...limits });
  server = await listen((_request, response) => void pending.push(response), '127.0.0.1', 0, limiting);
}
afterEach(async () => {
  for (const { socket } of clients) socket.destroy();
  await server.stop(0);
});

/** Connects from an address of this machine. */
async function connect(localAddress = '127.0.0.1'): Promise<Client> {
  const socket = net.connect({ port: server.port, host: '127.0.0.1', localAddress });
  const client: Client = { socket, state: 'open', seen: '' };
  clients.push(client);
  socket.on('data', (data) => (client.seen += data.toString('latin1')));
  socket.on('error', () => undefined);
  socket.on('close', () => (client.state = 'closed'));
  await new Promise((resolve) => socket.once('connect', resolve));
  return client;
}

/** Sends a request that the server does not answer yet. */
async function connectBusy(localAddress?: string): Promise<Client> {
  const client = await connect(localAddress);
  const before = pending.length;
  client.socket.write(GET);
  await eventually(() => expect(pending).toHaveLength(before + 1));
  return client;
}

async function expectClosed(...closed: Client[]): Promise<void> {
  await eventually(() => expect(closed.map(({ state }) => state)).toEqual(closed.map(() => 'closed')));
}

it('closes the connection that has been idle for longest when an address has too many', async () => {
  await start({ max: 100, maxPerAddress: 3 });
  const first = await connectBusy();
  const second = await connectBusy();
  const third = await connectBusy();
  pending[1]?.end();
  await eventually(() => expect(second.seen).toMatch(/200 OK/));
  pending[0]?.end();
  await eventually(() => expect(first.seen).toMatch(/200 OK/));
  const fourth = await connectBusy();
  await expectClosed(second);
  const fifth = await connectBusy();
  await expectClosed(first);
  expect([third.state, fourth.state, fifth.state]).toEqual(['open', 'open', 'open']);
  expect(reports).toEqual([]);
});

it('counts a connection that has sent nothing as idle', async () => {
  await start({ max: 2, maxPerAddress: 2 });
  const silent = await connect();
  await connectBusy();
  await connectBusy();
  await expectClosed(silent);
});

it('refuses a connection if those of its address are all busy, and no other address', async () => {
  await start({ max: 100, maxPerAddress: 2 });
  await connectBusy();
  await connectBusy();
  await expectClosed(await connect());
  expect(reports).toEqual([{ connections: 2 }]);
  await expectClosed(await connect());
  expect(reports).toHaveLength(1);
  expect((await connectBusy('127.0.0.2')).state).toBe('open');
});

it('refuses a connection if all of the process are busy, and accepts the next when one has ended', async () => {
  await start({ max: 2, maxPerAddress: 2 });
  const first = await connectBusy('127.0.0.1');
  await connectBusy('127.0.0.2');
  await expectClosed(await connect('127.0.0.3'));
  first.socket.destroy();
  await eventually(async () => {
    const next = await connect('127.0.0.3');
    const before = pending.length;
    next.socket.write(GET);
    await eventually(() => expect(next.state === 'closed' || pending.length > before).toBe(true));
    expect(pending).toHaveLength(before + 1);
  });
});

it('takes from a trusted proxy as many as the process may have', async () => {
  await start({ max: 4, maxPerAddress: 1, proxies: ['127.0.0.0/31'] });
  for (let n = 0; n < 3; n += 1) await connectBusy();
  await connectBusy('127.0.0.2');
  await expectClosed(await connect());
});
