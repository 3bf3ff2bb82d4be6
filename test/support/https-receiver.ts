import { readFileSync } from 'node:fs';
import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

function fixture(name: string): string {
  return readFileSync(new URL(`tls/${name}`, import.meta.url), 'utf8');
}

/** The CA of the receivers' certificates, which are for `receiver.test`, `*.receiver.test`, `localhost`, `127.0.0.1`, `::1`. */
export const testCa = fixture('ca.pem');

/** Certificate and key of the receivers. */
export const testIdentity = { cert: fixture('server.pem'), key: fixture('server-key.pem') };

export interface ReceivedRequest {
  at: number;
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export type Answer = (request: ReceivedRequest, response: ServerResponse) => void | Promise<void>;

/** A real server like that of a subscriber. */
export interface Receiver {
  port: number;
  requests: ReceivedRequest[];
  /** Number of connections so far. */
  connections: number;
  /** Responds to a request; by default with 200 and an empty body. */
  answer: Answer;
  url(path?: string, host?: string): string;
  close(): Promise<void>;
}

export interface ReceiverOptions {
  answer?: Answer;
  /** Serves plain HTTP. */
  plain?: boolean;
  /** Uses a self-signed certificate instead of one of {@link testCa}. */
  selfSigned?: boolean;
  address?: string;
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function createServer(options: ReceiverOptions, listener: http.RequestListener): http.Server | https.Server {
  if (options.plain) return http.createServer(listener);
  const name = options.selfSigned ? 'self-signed' : 'server';
  return https.createServer({ cert: fixture(`${name}.pem`), key: fixture(`${name}-key.pem`) }, listener);
}

/** Listens on a free port of loopback. */
export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const sockets = new Set<Socket>();
  const server = createServer(options, (request, response) => {
    const at = Date.now();
    void read(request).then(
      (body) => {
        const { method = '', url = '', headers } = request;
        const received = { at, method, url, headers, body };
        receiver.requests.push(received);
        void receiver.answer(received, response);
      },
      () => undefined,
    );
  });
  const receiver: Receiver = {
    port: 0,
    requests: [],
    connections: 0,
    answer: options.answer ?? ((_request, response) => void response.end()),
    url: (path = '/hook', host = 'receiver.test') =>
      `${options.plain ? 'http' : 'https'}://${host}:${receiver.port}${path}`,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  server.on('connection', (socket: Socket) => {
    receiver.connections += 1;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, options.address ?? '127.0.0.1', resolve));
  receiver.port = (server.address() as AddressInfo).port;
  return receiver;
}
