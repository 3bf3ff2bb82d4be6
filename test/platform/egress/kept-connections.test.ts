import { afterEach, describe, expect, it } from '@jest/globals';
import { createResolver } from '../../../src/platform/dns/resolver.ts';
import { createEgress, type Egress, type EgressRequest } from '../../../src/platform/egress/client.ts';
import { testCa } from '../../support/https-receiver.ts';
import { startRawServer, type RawAnswer, type RawServer } from '../../support/raw-server.ts';

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
/** A connection that was just answered on is not used again at once. */
const aMoment = () => new Promise((resolve) => setTimeout(resolve, 50));
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

describe('a kept connection that is closed when it is used', () => {
  /** Some kept connections, which the server closes when they are used. New ones it answers. */
  async function openStale(connections: number) {
    const post = await open((socket, { nth }) => {
      if (nth > 1) socket.destroy();
      else setTimeout(() => socket.write(OK), 50);
    });
    await Promise.all(Array.from({ length: connections }, () => post()));
    expect(server.connections).toBe(connections);
    await aMoment();
    return post;
  }

  it('fails nothing that may be repeated: it is, once, on a new one', async () => {
    const post = await openStale(5);
    expect(await post({ repeatable: true })).toMatchObject({ ok: true, statusCode: 200 });
    expect(server.requests.map(({ nth }) => nth)).toEqual([1, 1, 1, 1, 1, 2, 1]);
  });

  it('fails a GET not at all', async () => {
    const request = await openStale(1);
    expect(await request({ method: 'GET' })).toMatchObject({ ok: true });
  });

  it('fails what must not arrive twice', async () => {
    const post = await openStale(1);
    expect(await post()).toMatchObject({ ok: false, reason: 'reset' });
    expect(server.requests).toHaveLength(2);
  });
});

describe('is repeated nothing', () => {
  it('that a new connection lost', async () => {
    const post = await open((socket) => void socket.destroy());
    expect(await post({ repeatable: true })).toMatchObject({ ok: false, reason: 'reset' });
    expect(server.requests).toHaveLength(1);
  });

  it('of which an answer had begun', async () => {
    const post = await open((socket, { nth }) => {
      if (nth === 1) socket.write(OK);
      else socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf');
    });
    await post();
    await aMoment();
    expect(await post({ repeatable: true })).toMatchObject({ ok: false, reason: 'reset', statusCode: 200 });
    expect(server.requests.map(({ nth }) => nth)).toEqual([1, 2]);
  });
});
