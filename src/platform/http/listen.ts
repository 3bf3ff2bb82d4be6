import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError } from '../../errors.ts';
import { errorBody } from './reply.ts';

const HEADERS_TIMEOUT_MS = 20_000;
const REQUEST_TIMEOUT_MS = 120_000;
/** Longer than the idle time-out of the usual load balancers, so that they close first. */
const KEEP_ALIVE_MS = 75_000;
/** How long a connection that must close waits for the answers that it owes. */
const LAST_ANSWERS_MS = 30_000;

export interface Listening {
  port: number;
  /**
   * Accept nothing more, let requests under way finish, close idle connections at once.
   * @param graceSeconds after which what still runs is cut off
   */
  stop(graceSeconds: number): Promise<void>;
}

interface Connection {
  unanswered: Set<ServerResponse>;
  /** It ends behind the last answer that it owes. */
  closing: boolean;
}
type Connections = WeakMap<Duplex, Connection>;

function noteUnanswered(connections: Connections, socket: Duplex, response: ServerResponse): void {
  const connection = connections.get(socket) ?? { unanswered: new Set(), closing: false };
  connections.set(socket, connection);
  connection.unanswered.add(response);
  response.once('close', () => connection.unanswered.delete(response));
}

/** The last answer that the client would take our next words for, or for a part of. */
function lastOwed(connection: Connection | undefined): ServerResponse | undefined {
  return [...(connection?.unanswered ?? [])].findLast(({ req, headersSent }) => req.complete || headersSent);
}

/**
 * What still comes in is read and thrown away by the parser, which is past its error: with bytes left unread, the
 * system would reset the connection, and the answer be lost with it.
 */
function closeBehind(last: ServerResponse, connection: Connection, socket: Duplex): void {
  connection.closing = true;
  // Says `Connection: close`, where the headers are not out yet.
  last.shouldKeepAlive = false;
  last.once('close', () => socket.end(() => socket.destroy()));
  const cut = setTimeout(() => socket.destroy(), LAST_ANSWERS_MS).unref();
  socket.once('close', () => clearTimeout(cut));
}

/** What Node could not parse as HTTP gets an answer in our shape all the same, where it can be one. */
function answerBadRequest(connections: Connections, error: NodeJS.ErrnoException, socket: Duplex): void {
  const connection = connections.get(socket);
  if (connection?.closing) return;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const last = lastOwed(connection);
  if (connection && last) {
    closeBehind(last, connection, socket);
    return;
  }
  const lines: Record<string, string> = {
    HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
    ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  };
  const line = lines[error.code ?? ''] ?? '400 Bad Request';
  const code = line.startsWith('431') ? 'payload_too_large' : 'malformed_json';
  const body = JSON.stringify(errorBody(new AppError(code, line.slice(4).toLowerCase())));
  const head = [
    `HTTP/1.1 ${line}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${randomUUID()}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function listening(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, 1_024, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : port);
    });
  });
}

function stopServer(server: Server, graceSeconds: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), graceSeconds * 1_000);
    // Idle keep-alive connections appear as requests finish; those must go too.
    const sweep = setInterval(() => server.closeIdleConnections(), 50);
    server.close(() => {
      clearTimeout(cut);
      clearInterval(sweep);
      resolve();
    });
    server.closeIdleConnections();
  });
}

/**
 * Serve `listener` over HTTP.
 * @param port 0 takes a free one
 * @throws the system's error, `EADDRINUSE` where the port is taken
 */
export async function listen(listener: RequestListener, host: string, port: number): Promise<Listening> {
  const server = createServer(
    {
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      noDelay: true,
    },
    listener,
  );
  const connections: Connections = new WeakMap();
  server.prependListener('request', ({ socket }, response) => noteUnanswered(connections, socket, response));
  server.on('clientError', (error, socket) => answerBadRequest(connections, error, socket));
  // Node's own answer to an Expect that it does not know is not in our shape; a server may ignore it (RFC 9110 §10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  const bound = await listening(server, host, port);
  return { port: bound, stop: (graceSeconds) => stopServer(server, graceSeconds) };
}
