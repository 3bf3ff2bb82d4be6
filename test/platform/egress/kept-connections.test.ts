// A request that a closing pooled connection loses is sent once more only if it is repeatable.
import type { TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createResolver } from '../../../src/platform/dns/resolver.ts';
import { createEgress, type Egress, type EgressRequest } from '../../../src/platform/egress/client.ts';
import { testCa } from '../../support/https-receiver.ts';
import { startRawServer, type RawAnswer, type RawServer } from '../../support/raw-server.ts';

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
/** The client reuses a connection only some time after its last response. */
const untilReusable = () => new Promise((resolve) => setTimeout(resolve, 50));
let server: RawServer;
let egress: Egress;

afterEach(async () => {
  await egress.close();
  await server.close();
});

async function open(answer: RawAnswer): Promise<(request?: Partial<EgressRequest>) => Promise<unknown>> {
  server = await startRawServer(answer);
  egress = createEgress({
    resolver: createResolver([]),
    allow: ['127.0.0.1'],
    userAgent: 'Carillon-Test/1',
    ca: [testCa],
  });
  const url = `https://127.0.0.1:${server.port}/hook`;
  return (request) => egress.request({ url, method: 'POST', body: '{}', ...request });
}

describe('a pooled connection that the server closes when it is used', () => {
  /** Opens connections that the server closes on their second request. It responds to the first request on each. */
  async function openStale(connections: number) {
    const waiting: TLSSocket[] = [];
    let opened = 0;
    const post = await open((socket, { nth }) => {
      if (nth > 1) return void socket.destroy();
      waiting.push(socket);
      opened += 1;
      if (opened >= connections) for (const each of waiting.splice(0)) each.write(OK);
    });
    await Promise.all(Array.from({ length: connections }, () => post()));
    expect(server.connections).toBe(connections);
    await untilReusable();
    return post;
  }

  it('does not fail a repeatable request, which is sent once more over a new connection', async () => {
    const post = await openStale(5);
    expect(await post({ repeatable: true })).toMatchObject({ ok: true, statusCode: 200 });
    expect(server.requests.map(({ nth }) => nth)).toEqual([1, 1, 1, 1, 1, 2, 1]);
  });

  it('does not fail a GET', async () => {
    const request = await openStale(1);
    expect(await request({ method: 'GET' })).toMatchObject({ ok: true });
  });

  it('fails a request that is not repeatable', async () => {
    const post = await openStale(1);
    expect(await post()).toMatchObject({ ok: false, reason: 'reset' });
    expect(server.requests).toHaveLength(2);
  });
});

describe('a repeatable request', () => {
  it('is not repeated if a new connection broke', async () => {
    const post = await open((socket) => void socket.destroy());
    expect(await post({ repeatable: true })).toMatchObject({ ok: false, reason: 'reset' });
    expect(server.requests).toHaveLength(1);
  });

  it('is not repeated if a response had begun', async () => {
    const post = await open((socket, { nth }) => {
      if (nth === 1) socket.write(OK);
      else socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf');
    });
    await post();
    await untilReusable();
    expect(await post({ repeatable: true })).toMatchObject({ ok: false, reason: 'reset', statusCode: 200 });
    expect(server.requests.map(({ nth }) => nth)).toEqual([1, 2]);
  });
});
