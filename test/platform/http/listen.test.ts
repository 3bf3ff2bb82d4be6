// Garbage, a late body or an unread response ends a connection without harm to other responses; pipelining is bounded.
import type { IncomingMessage, ServerResponse } from 'node:http';
import net from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ClientGone, readPieces } from '../../../src/platform/http/body.ts';
import { allowSlowBody } from '../../../src/platform/http/body-deadline.ts';
import { type CountedRequest, countedRequest } from '../../../src/platform/http/counted-request.ts';
import { listen, type Listening } from '../../../src/platform/http/listen.ts';
import { eventually } from '../../support/eventually.ts';

/** The requests in order, with responses for the tests to write. */
let exchanges: { request: IncomingMessage; response: ServerResponse }[];
let server: Listening;
let client: net.Socket;
let seen: string;
let ended: Promise<string>;

beforeEach(async () => {
  exchanges = [];
  server = await listen((request, response) => void exchanges.push({ request, response }), '127.0.0.1', 0);
  seen = '';
  client = net.connect(server.port, '127.0.0.1');
  ended = new Promise((resolve) => {
    client.on('data', (data) => (seen += data.toString('latin1')));
    client.on('end', () => resolve('closed'));
    client.on('error', () => resolve('reset'));
  });
});
afterEach(async () => {
  jest.useRealTimers();
  client.destroy();
  await server.stop(0);
});

/** Waits until `count` requests have arrived. @returns their pending responses */
async function send(bytes: string, count: number): Promise<ServerResponse[]> {
  client.write(bytes);
  await eventually(() => expect(exchanges).toHaveLength(count));
  return exchanges.map(({ response }) => response);
}

/** Waits in real time: `eventually` uses timers, which do not run here. */
async function turnsUntil(reached: () => boolean): Promise<void> {
  while (!reached()) await new Promise((resolve) => setImmediate(resolve));
}

const post = (body: string, length: number) =>
  `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${body}`;
const get = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const nonsense = 'NONSENSE\r\n\r\n';

/** Sends garbage, and waits until the server has read it. */
async function sendNonsense(): Promise<void> {
  const socket = exchanges[0]?.request.socket;
  const length = (socket?.bytesRead ?? 0) + nonsense.length;
  client.write(nonsense);
  await eventually(() => expect(socket?.bytesRead).toBe(length));
}

describe('garbage on a connection', () => {
  it('lets the pending response be sent, then closes the connection', async () => {
    const [answer] = await send(post('{"to":"é"} }', 11), 1);
    await sendNonsense();
    answer?.writeHead(201, ['Content-Length', '4']).end('made');
    expect(await ended).toBe('closed');
    expect(seen).toMatch(/^HTTP\/1.1 201 [^]*\r\nConnection: close\r\n(?:[^]*\r\n)?\r\nmade$/);
  });

  it('lets every pending response be sent', async () => {
    const [first, second] = await send(`${get}${get}${nonsense}`, 2);
    second?.end('two');
    await sendNonsense();
    first?.end('one');
    expect(await ended).toBe('closed');
    expect(seen).toMatch(/^HTTP\/1.1 200 [^]*\r\n\r\noneHTTP\/1.1 200 [^]*\r\n\r\ntwo$/);
  });

  it('lets a response that has begun be finished', async () => {
    const [answer] = await send(get, 1);
    answer?.writeHead(200, { 'Content-Length': 8 }).write('half');
    await eventually(() => expect(seen).toMatch(/half$/));
    await sendNonsense();
    answer?.end('full');
    expect(await ended).toBe('closed');
    expect(seen).toMatch(/halffull$/);
  });

  it('inside a body lets the earlier response be sent, then closes the connection', async () => {
    const chunked = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n';
    const [first] = await send(`${get}${chunked}`, 2);
    first?.end('one');
    expect(await ended).toBe('closed');
    expect(seen).toMatch(/^HTTP\/1.1 200 [^]*\r\n\r\none$/);
  });

  it('closes the connection after 30 seconds if the pending response never comes', async () => {
    await send(get, 1);
    jest.useFakeTimers({
      doNotFake: ['nextTick', 'setImmediate', 'setInterval', 'Date', 'performance', 'queueMicrotask'],
    });
    await sendNonsense();
    await sendNonsense();
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(30_000);
    expect(await ended).toBe('closed');
    expect(seen).toBe('');
  });

  it('does not replace the response to a request with an unknown Expect header', async () => {
    const [answer] = await send(`GET / HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\n\r\n${nonsense}`, 1);
    answer?.end('one');
    expect(await ended).toBe('closed');
    expect(seen).toMatch(/^HTTP\/1.1 200 [^]*\r\n\r\none$/);
  });
});

describe('pipelining', () => {
  const clients: net.Socket[] = [];
  /** Opens one more connection. @returns it, and whether it was closed */
  function pipeline(requests: number) {
    const socket = net.connect(server.port, '127.0.0.1');
    clients.push(socket);
    const state = { socket, closed: false };
    socket.on('error', () => undefined);
    socket.once('close', () => (state.closed = true));
    socket.resume();
    socket.write(get.repeat(requests));
    return state;
  }
  afterEach(() => {
    for (const one of clients.splice(0)) one.destroy();
  });

  it('is served with up to 16 requests of a connection in progress', async () => {
    const responses = await send(get.repeat(16), 16);
    for (const [n, response] of responses.entries()) response.end(`answer ${n};`);
    await eventually(() => expect(seen.match(/answer \d+;/g)).toHaveLength(16));
    await send(get.repeat(16), 32);
    expect(client.destroyed).toBe(false);
  });

  it('closes the connection at the 17th request in progress, and begins none behind it', async () => {
    client.write(get.repeat(3_000));
    await ended;
    expect(exchanges).toHaveLength(16);
  });

  it('begins at most 2,000 requests behind others, and still the first of each connection', async () => {
    const states = Array.from({ length: 140 }, () => pipeline(16));
    await eventually(() => expect(states.filter(({ closed }) => closed)).toHaveLength(7));
    const before = exchanges.length;
    await send(get, before + 1);
    for (const { socket } of states) socket.destroy();
    exchanges.at(-1)?.response.end('last');
    await eventually(() => expect(seen).toMatch(/last$/));
    // Those of the closed connections do not count any more.
    await send(get.repeat(16), before + 17);
  });
});

describe('a response that is not read', () => {
  let unread: Listening;
  let reader: net.Socket;

  beforeEach(async () => {
    jest.useFakeTimers({
      doNotFake: ['nextTick', 'setImmediate', 'Date', 'performance', 'queueMicrotask'],
    });
    unread = await listen((request, response) => void exchanges.push({ request, response }), '127.0.0.1', 0);
    reader = net.connect(unread.port, '127.0.0.1');
    reader.on('error', () => undefined);
    reader.write(get);
    await turnsUntil(() => exchanges.length === 1);
  });
  afterEach(async () => {
    jest.useRealTimers();
    reader.destroy();
    await unread.stop(0);
  });

  /** Sends a response larger than the system's buffers, and waits until the client must read. */
  async function sendLarge(): Promise<net.Socket> {
    const { request, response } = exchanges[0] ?? {};
    response?.end(Buffer.alloc(64 * 1024 * 1024));
    for (let n = 0; n < 100; n += 1) await new Promise((resolve) => setImmediate(resolve));
    return request?.socket as net.Socket;
  }
  function readBytes(bytes: number): Promise<void> {
    let read = 0;
    return turnsUntil(() => {
      const piece = reader.read() as Buffer | null;
      read += piece?.length ?? 0;
      return read >= bytes;
    });
  }

  it('is given up once the client has taken less than 64 KiB in 30 seconds', async () => {
    const socket = await sendLarge();
    jest.advanceTimersByTime(30_000);
    expect(socket.destroyed).toBe(false);
    jest.advanceTimersByTime(30_000);
    expect(socket.destroyed).toBe(true);
  });

  it('is sent as long as the client goes on reading, even if it was written at once', async () => {
    const socket = await sendLarge();
    for (let n = 0; n < 6; n += 1) {
      jest.advanceTimersByTime(30_000);
      await readBytes(8 * 1024 * 1024);
    }
    expect(socket.destroyed).toBe(false);
  });

  it('is not one that the server has not written yet', async () => {
    jest.advanceTimersByTime(600_000);
    expect(exchanges[0]?.request.socket.destroyed).toBe(false);
  });
});

describe('a body that is late', () => {
  beforeEach(() => {
    jest.useFakeTimers({
      doNotFake: ['nextTick', 'setImmediate', 'Date', 'performance', 'queueMicrotask'],
    });
  });

  async function begin(bytes: string): Promise<CountedRequest> {
    client.write(bytes);
    await turnsUntil(() => exchanges.length === 1);
    return countedRequest(exchanges[0]?.request as IncomingMessage);
  }
  async function sendMore(request: IncomingMessage, bytes = 1): Promise<void> {
    const after = request.socket.bytesRead + bytes;
    client.write('x'.repeat(bytes));
    await turnsUntil(() => request.socket.bytesRead === after);
  }

  it('is a 408 after 120 seconds', async () => {
    await begin(post('half', 100));
    jest.advanceTimersByTime(119_000);
    expect(exchanges[0]?.request.destroyed).toBe(false);
    jest.advanceTimersByTime(1_000);
    expect(await ended).toBe('closed');
    expect(seen).toMatch(/^HTTP\/1.1 408 [^]*request timeout/);
  });

  it('is not counted once it is complete', async () => {
    const request = await begin(post('whole', 5));
    request.resume();
    await turnsUntil(() => request.complete);
    jest.advanceTimersByTime(600_000);
    exchanges[0]?.response.end('late');
    await turnsUntil(() => seen.endsWith('late'));
    expect(seen).toMatch(/^HTTP\/1.1 200 /);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is a 408 as soon as ten seconds of reading bring less than 1 KiB a second', async () => {
    const request = await begin(post('x', 100_000));
    jest.advanceTimersByTime(60_000);
    const read = readPieces(request, () => undefined);
    const rejected = expect(read).rejects.toThrow(ClientGone);
    await sendMore(request, 10_240);
    jest.advanceTimersByTime(10_000);
    await sendMore(request, 10_239);
    jest.advanceTimersByTime(9_000);
    expect(seen).toBe('');
    jest.advanceTimersByTime(1_000);
    await rejected;
    expect(await ended).toBe('closed');
    expect(seen).toMatch(/^HTTP\/1.1 408 [^]*request timeout/);
  });

  it('is read no further after a 408, and its connection is closed although the client goes on', async () => {
    const request = await begin(post('half', 100));
    let length = 0;
    const rejected = expect(readPieces(request, (piece) => void (length += piece.length))).rejects.toThrow();
    await turnsUntil(() => length === 4);
    jest.advanceTimersByTime(10_000);
    await rejected;
    const { socket } = request;
    client.write('x'.repeat(96));
    jest.advanceTimersByTime(2_000);
    await turnsUntil(() => socket.destroyed);
    expect([length, exchanges.length]).toEqual([4, 1]);
  });

  it('may take 30 minutes if it is stored while it arrives', async () => {
    const request = await begin(post('x', 100));
    request.resume();
    allowSlowBody(request);
    for (let seconds = 0; seconds < 1_770; seconds += 30) {
      await sendMore(request);
      jest.advanceTimersByTime(30_000);
    }
    expect(seen).toBe('');
    await sendMore(request);
    jest.advanceTimersByTime(30_000);
    expect(await ended).toBe('closed');
    expect(seen).toMatch(/^HTTP\/1.1 408 /);
  });

  it('must not stall if it is stored while it arrives', async () => {
    const request = await begin(post('x', 100));
    request.resume();
    allowSlowBody(request);
    jest.advanceTimersByTime(30_000);
    expect(seen).toBe('');
    jest.advanceTimersByTime(30_000);
    expect(await ended).toBe('closed');
    expect(seen).toMatch(/^HTTP\/1.1 408 /);
  });
});
