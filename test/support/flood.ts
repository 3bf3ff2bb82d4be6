/**
 * A program that attacks the API at a port, with a customer's key, from several addresses of this machine, until it is
 * ended. It sends requests that stop in the middle, and bodies of one-byte chunks. When the API closes a connection, it
 * opens another. It is ready when all connections are open, and prints every second how many are waiting without a
 * response.
 */
import net from 'node:net';

const STALLED = 1_000;
const TINY = 50;
const ADDRESSES = 5;
const RECONNECT_MS = 2_000;

const [, , port, apiKey] = process.argv;

const headOf = (method: string, path: string, ...headers: string[]) =>
  [`${method} ${path} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n');
const JSON_TYPE = 'Content-Type: application/json';
const WITH_KEY = `Authorization: Bearer ${apiKey}`;

/** The beginnings of requests. The API waits for the rest, because it needs these bodies. */
const STALLS = [
  `${headOf('POST', '/v1/login', JSON_TYPE, 'Content-Length: 16000')}${'x'.repeat(2_000)}`,
  `${headOf('POST', '/v1/my/messages', WITH_KEY, JSON_TYPE, 'Content-Length: 1000000')}${'x'.repeat(20_000)}`,
  'GET /v1/my/account HTTP/1.1\r\nHost: x\r\nX-Half: ',
];
const TINY_HEADS = [
  headOf('GET', '/c/unknown', 'Transfer-Encoding: chunked'),
  headOf('GET', '/.well-known/carillon-tracking/abcdefghijklmnopqrstuv', 'Transfer-Encoding: chunked'),
  headOf('POST', '/v1/login', JSON_TYPE, 'Transfer-Encoding: chunked'),
  headOf('POST', '/callbacks/sendgrid/unknown', 'Transfer-Encoding: chunked'),
  headOf('POST', '/unsubscribe/unknown', 'Transfer-Encoding: chunked'),
];
const TINY_CHUNKS = Buffer.from('1\r\nx\r\n'.repeat(10_000));

/** Connections that got no response and were not closed. */
const waiting = new Set<net.Socket>();
let opened = 0;

function attack(n: number, begin: string, goOn: (socket: net.Socket) => void): void {
  const socket = net.connect({
    port: Number(port),
    host: '127.0.0.1',
    localAddress: `127.0.0.${2 + (n % ADDRESSES)}`,
  });
  socket.on('error', () => undefined);
  socket.once('connect', () => {
    waiting.add(socket);
    opened += 1;
    if (opened === STALLED + TINY) process.send?.('ready');
  });
  socket.on('data', () => waiting.delete(socket));
  socket.once('close', () => waiting.delete(socket));
  socket.once('close', () => setTimeout(() => attack(n, begin, goOn), RECONNECT_MS));
  socket.write(begin);
  goOn(socket);
}

function sendTiny(socket: net.Socket): void {
  const go = () => {
    while (socket.writable && socket.write(TINY_CHUNKS));
  };
  socket.on('drain', go);
  go();
}

for (let n = 0; n < STALLED; n += 1) attack(n, STALLS[n % STALLS.length] ?? '', () => undefined);
for (let n = 0; n < TINY; n += 1) attack(n, TINY_HEADS[n % TINY_HEADS.length] ?? '', sendTiny);
setInterval(() => process.stdout.write(`waiting ${waiting.size}\n`), 1_000);
