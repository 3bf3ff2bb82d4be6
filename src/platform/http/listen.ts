import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError, errorBody } from '../../errors.ts';
import { ClientGone, hasBody, LINGER_MS } from './body.ts';
import { startBodyDeadline } from './body-deadline.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import { CountedRequest, countedRequest } from './counted-request.ts';
import { type Connection, PendingResponses } from './pending-responses.ts';

const HEADERS_TIMEOUT_MS = 20_000;
/** Longer than the idle time-out of common load balancers, so that they close connections first. */
const KEEP_ALIVE_MS = 75_000;
/** How long a connection that must close waits for its pending responses, in ms. */
const PENDING_RESPONSES_MS = 30_000;

export interface Listening {
  port: number;
  /**
   * Stops accepting connections, closes idle ones, and waits for the requests in progress.
   * @param graceSeconds time after which the remaining connections are closed
   */
  stop(graceSeconds: number): Promise<void>;
}

/** The last pending response. Bytes sent now would be read as that response, or as a part of it. */
function lastPending(connection: Connection | undefined): ServerResponse | undefined {
  return [...(connection?.pending ?? [])].findLast(({ req, headersSent }) => req.complete || headersSent);
}

function destroyLater(socket: Duplex, afterMs: number): void {
  const cut = setTimeout(() => socket.destroy(), afterMs).unref();
  socket.once('close', () => clearTimeout(cut));
}

/**
 * Closes the connection after its last pending response. Until then, discards what still arrives: if bytes were left
 * unread, the system would reset the connection and the client would lose the response.
 */
function closeAfter(last: ServerResponse, connection: Connection, socket: Duplex): void {
  connection.closing = true;
  // Adds `Connection: close` unless the headers are already sent.
  last.shouldKeepAlive = false;
  last.once('close', () => socket.end(() => socket.destroy()));
  destroyLater(socket, PENDING_RESPONSES_MS);
}

/** Answers a request that Node could not parse as HTTP, in our error shape if the connection allows a response. */
function answerBadRequest(responses: PendingResponses, error: NodeJS.ErrnoException, socket: Duplex): void {
  const connection = responses.of(socket);
  if (connection?.closing) return;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const last = lastPending(connection);
  if (connection && last) {
    closeAfter(last, connection, socket);
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
  destroyLater(socket, LINGER_MS);
}

function boundBody(responses: PendingResponses, request: CountedRequest): void {
  startBodyDeadline(request, () => {
    const error = Object.assign(new Error('the body is late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    answerBadRequest(responses, error, request.socket);
    request.fail(new ClientGone(error.message));
  });
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
    // Connections become idle as their requests finish. Close those, too.
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
 * Serves `listener` over HTTP.
 * @param port if 0, a free one
 * @param limits on connections; none by default
 * @throws the system's error, such as `EADDRINUSE` if the port is taken
 */
export async function listen(
  listener: RequestListener,
  host: string,
  port: number,
  limits?: ConnectionLimits,
): Promise<Listening> {
  const server = createServer({
    IncomingMessage: CountedRequest,
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_TIMEOUT_MS,
    // Node's limit is the same for all requests; see body-deadline.ts.
    requestTimeout: 0,
    noDelay: true,
  });
  const responses = new PendingResponses(limits);
  server.on('request', (request, response) => {
    if (!responses.add(response)) return;
    if (hasBody(request)) boundBody(responses, countedRequest(request));
    listener(request, response);
  });
  if (limits) server.on('connection', (socket) => void (limits.admit(socket) || socket.destroy()));
  server.on('clientError', (error, socket) => answerBadRequest(responses, error, socket));
  // Node's own response to an unknown Expect is not in our shape. A server may ignore the header (RFC 9110 §10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  const bound = await listening(server, host, port);
  return {
    port: bound,
    async stop(graceSeconds) {
      await stopServer(server, graceSeconds);
      responses.stop();
    },
  };
}
