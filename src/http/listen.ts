import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError } from '../errors.ts';
import { errorBody } from './respond.ts';

const HEADERS_TIMEOUT_MS = 20_000;
const REQUEST_TIMEOUT_MS = 120_000;
/** Longer than the idle time-out of the usual load balancers, so that they close first. */
const KEEP_ALIVE_MS = 75_000;

export interface Listening {
  port: number;
  /**
   * Accept nothing more, let requests under way finish, close idle connections at once.
   * @param graceSeconds after which what still runs is cut off
   */
  stop(graceSeconds: number): Promise<void>;
}

type Unanswered = WeakMap<Duplex, Set<ServerResponse>>;

function noteUnanswered(unanswered: Unanswered, socket: Duplex, response: ServerResponse): void {
  const responses = unanswered.get(socket) ?? new Set();
  unanswered.set(socket, responses.add(response));
  response.once('close', () => responses.delete(response));
}

/** Whether the client would take our next words for the answer to a request before, or for a part of one. */
function isAnswerOwed(responses: ReadonlySet<ServerResponse> | undefined): boolean {
  return [...(responses ?? [])].some(({ req, headersSent }) => req.complete || headersSent);
}

/** What Node could not parse as HTTP gets an answer in our shape all the same, where it can be one. */
function answerBadRequest(unanswered: Unanswered, error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswerOwed(unanswered.get(socket))) {
    socket.destroy();
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
  const unanswered: Unanswered = new WeakMap();
  server.prependListener('request', ({ socket }, response) => noteUnanswered(unanswered, socket, response));
  server.on('clientError', (error, socket) => answerBadRequest(unanswered, error, socket));
  // Node's own answer to an Expect that it does not know is not in our shape; a server may ignore it (RFC 9110 §10.1.1).
  server.on('checkExpectation', listener);
  const bound = await listening(server, host, port);
  return { port: bound, stop: (graceSeconds) => stopServer(server, graceSeconds) };
}
