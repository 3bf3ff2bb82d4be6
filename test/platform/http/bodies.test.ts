// The API neither waits for a body that it does not need nor keeps one, and reads none that arrives in tiny chunks.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { GrowingBuffer } from '../../../src/platform/input/growing-buffer.ts';
import { createFileSink } from '../../../src/platform/http/file-sink.ts';
import { defineRoute } from '../../../src/platform/http/route.ts';
import { createHomeStore } from '../../../src/platform/storage/local-disk.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { probeRoutes } from '../../support/probe-routes.ts';
import { addTestProvider } from '../../support/signed-callbacks.ts';

const FILES = '/v1/my/probe/files';

let home: string;
let api: TestApi;
let callbackPath: string;
const clients: net.Socket[] = [];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-home-'));
  const sink = createFileSink({ store: createHomeStore(home), kind: 'imports', maxAtOnce: 2 });
  const storing = defineRoute({
    method: 'POST',
    path: FILES,
    operationId: 'probeFile',
    tag: 'Probe',
    summary: 'Store a file',
    auth: 'brand',
    testKeys: 'allowed',
    idempotency: 'none',
    multipart: { file: 'file', maxFileBytes: 1_000_000, sink },
    responses: { 200: { description: 'The result', schema: null } },
    handler: () => ({ status: 200, body: {} }),
  });
  api = await startTestApi({ extraRoutes: [...probeRoutes, storing] });
  const { kind, callbackToken } = await addTestProvider(api.database.pool, 'grid', 'sendgrid');
  callbackPath = `/callbacks/${kind.name}/${callbackToken}`;
});
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});
afterAll(async () => {
  await api.close();
  await rm(home, { recursive: true, force: true });
});

interface Client {
  socket: net.Socket;
  seen(): string;
  closed: Promise<unknown>;
}

/** Opens a connection and sends the beginning of a request. */
function send(...pieces: string[]): Client {
  const socket = net.connect({ port: api.port, host: '127.0.0.1', noDelay: true });
  clients.push(socket);
  let seen = '';
  socket.on('data', (data) => (seen += data.toString('latin1')));
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  for (const piece of pieces) socket.write(piece);
  return { socket, seen: () => seen, closed };
}

async function files(): Promise<unknown[]> {
  const all = await readdir(join(home, 'blobs'), { recursive: true, withFileTypes: true }).catch(() => []);
  return all.filter((entry) => entry.isFile());
}

const headOf = (method: string, path: string, ...headers: string[]) =>
  [`${method} ${path} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n');
const withKey = () => `Authorization: Bearer ${api.apiKey}`;
const CHUNKED = 'Transfer-Encoding: chunked';
const JSON_TYPE = 'Content-Type: application/json';
const FORM_TYPE = 'Content-Type: multipart/form-data; boundary=x';
const FORM_HEAD = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n';
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const tiny = (count: number) => chunk('x').repeat(count);

describe('a request whose body is not needed', () => {
  it.each([
    ['GET', '/c/unknown', 404],
    ['GET', '/o/unknown', 404],
    ['GET', '/.well-known/carillon-tracking/abcdefghijklmnopqrstuv', 200],
    ['GET', '/unsubscribe/unknown', 404],
    ['POST', '/unsubscribe/unknown', 404],
    ['GET', '/preferences/unknown', 404],
    ['GET', '/callbacks/sendgrid/unknown', 404],
    ['POST', '/callbacks/sendgrid/unknown', 404],
    ['POST', '/payments/unknown', 404],
    ['GET', '/healthz', 200],
    ['POST', '/unknown', 404],
  ])('is answered before the body arrives: %s %s', async (method, path, status) => {
    const client = send(headOf(method, path, 'Content-Length: 1000'), 'half');
    await eventually(() => expect(client.seen()).toMatch(new RegExp(`^HTTP/1.1 ${status} `)));
  });

  it('does not cost the connection if the body arrives soon', async () => {
    const client = send(headOf('GET', '/healthz', 'Content-Length: 4'), 'ha');
    await eventually(() => expect(client.seen()).toMatch(/"ok"/));
    client.socket.write(`lf${headOf('GET', '/v1/my/nothing')}`);
    await eventually(() => expect(client.seen()).toMatch(/"ok".*HTTP\/1.1 404 /s));
  });

  it('is answered, and its connection then closed, if the body arrives in tiny chunks', async () => {
    const client = send(headOf('GET', '/c/unknown', CHUNKED), tiny(5_000));
    await client.closed;
    expect(client.seen()).toMatch(/^HTTP\/1.1 404 /);
    expect(client.seen().match(/HTTP\/1.1/g)).toHaveLength(1);
  });
});

describe('a body in tiny chunks', () => {
  it.each([
    ['of a stranger', () => headOf('POST', '/v1/login', JSON_TYPE, CHUNKED), ''],
    ['of JSON', () => headOf('POST', '/v1/my/probe/echo/1', withKey(), JSON_TYPE, CHUNKED), ''],
    ['of a callback', () => headOf('POST', callbackPath, CHUNKED), ''],
    ['of an upload', () => headOf('POST', '/v1/my/uploads', withKey(), FORM_TYPE, CHUNKED), FORM_HEAD],
    ['of a stored file', () => headOf('POST', FILES, withKey(), FORM_TYPE, CHUNKED), FORM_HEAD],
  ])('%s is 400 after its first thousand', async (_whose, head, begin) => {
    const client = send(head(), begin && chunk(begin), tiny(5_000));
    await eventually(() => expect(client.seen()).toMatch(/^HTTP\/1.1 400 [^]*chunks of less than 128 bytes/));
  });

  it('of a stored file leaves no file', async () => {
    const client = send(headOf('POST', FILES, withKey(), FORM_TYPE, CHUNKED), chunk(FORM_HEAD), tiny(10));
    await eventually(async () => expect(await files()).toHaveLength(1));
    client.socket.write(tiny(5_000));
    await eventually(() => expect(client.seen()).toMatch(/^HTTP\/1.1 400 /));
    expect(await files()).toEqual([]);
  });

  it('is read if they are a thousand at most', async () => {
    const pieces = [...JSON.stringify({ subject: 'x', data: { text: 'y'.repeat(940) } })].map(chunk);
    const head = headOf('POST', '/v1/my/probe/echo/1', withKey(), JSON_TYPE, CHUNKED);
    const client = send(head, pieces.join(''), '0\r\n\r\n');
    await eventually(() => expect(client.seen()).toMatch(/^HTTP\/1.1 200 /));
  });

  it('is read if they have 128 bytes on average', async () => {
    const text = JSON.stringify({ subject: 'x', data: { text: 'y'.repeat(128 * 1_100) } });
    const head = headOf('POST', '/v1/my/probe/echo/1', withKey(), JSON_TYPE, CHUNKED);
    const client = send(head, (text.match(/.{1,129}/g) ?? []).map(chunk).join(''), '0\r\n\r\n');
    await eventually(() => expect(client.seen()).toMatch(/^HTTP\/1.1 200 /));
  });
});

describe('a growing buffer', () => {
  it('has what was appended, and little more memory than that', () => {
    const buffer = new GrowingBuffer(10_000);
    let all = '';
    for (let n = 0; n < 9_000; n += 1) {
      const piece = String(n % 10);
      buffer.append(Buffer.from(piece));
      all += piece;
    }
    expect(buffer.toBuffer().toString()).toBe(all);
    expect(buffer.toBuffer().buffer.byteLength).toBeLessThanOrEqual(10_000);
  });

  it('does not copy what arrives in one piece, and may be empty', () => {
    const piece = Buffer.from('whole');
    const buffer = new GrowingBuffer(10_000);
    expect(buffer.toBuffer().toString()).toBe('');
    buffer.append(piece);
    expect(buffer.toBuffer().buffer).toBe(piece.buffer);
  });
});
