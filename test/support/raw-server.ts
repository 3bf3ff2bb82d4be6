import net from 'node:net';
import tls, { type TLSSocket } from 'node:tls';
import { testIdentity } from './https-receiver.ts';

/** A request as it was received. */
export interface RawRequest {
  /** Its number on the connection, starting at 1. */
  nth: number;
  text: string;
  /** Resets the connection, without closing TLS or TCP properly. */
  reset: () => void;
}

/** A server whose responses are written by the test. */
export interface RawServer {
  port: number;
  requests: RawRequest[];
  connections: number;
  close(): Promise<void>;
}

export type RawAnswer = (socket: TLSSocket, request: RawRequest) => void;

async function listen(server: net.Server, raw: Omit<RawServer, 'close'>): Promise<RawServer> {
  const sockets = new Set<net.Socket>();
  server.on('connection', (socket: net.Socket) => {
    raw.connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  raw.port = (server.address() as net.AddressInfo).port;
  return Object.assign(raw, {
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

/** Starts a TLS server on a free loopback port, with the certificate of the test receivers. Requests must fit into one read. */
export function startRawServer(answer: RawAnswer): Promise<RawServer> {
  const raw = { port: 0, requests: [] as RawRequest[], connections: 0 };
  const byPort = new Map<number | undefined, net.Socket>();
  const server = tls.createServer(testIdentity, (socket) => {
    let nth = 0;
    const reset = () => void byPort.get(socket.remotePort)?.resetAndDestroy();
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      // The body of a request whose headers arrived separately.
      if (!/^[A-Z]+ \//.test(bytes.toString('latin1'))) return;
      const request = { nth: (nth += 1), text: bytes.toString(), reset };
      raw.requests.push(request);
      answer(socket, request);
    });
  });
  server.on('connection', (socket: net.Socket) => byPort.set(socket.remotePort, socket));
  server.on('tlsClientError', () => undefined);
  return listen(server, raw);
}

/** Starts a server without TLS that sends `greeting` on each connection and closes it. */
export function startGreeter(greeting: string): Promise<RawServer> {
  return listen(
    net.createServer((socket) => void socket.end(greeting)),
    { port: 0, requests: [], connections: 0 },
  );
}
