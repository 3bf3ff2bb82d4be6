import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import { Transform } from 'node:stream';

/** The server that a gate leads to. */
interface Target {
  host: string;
  port: number;
}

/** A TCP proxy in front of a server. With it, a test makes the server unavailable, or replaces it with another. */
export interface TcpGate {
  port: number;
  /** Leads new connections to another server. */
  leadTo(target: Target): void;
  /** Blocks open connections without ever closing them, as if the server's host had disappeared. */
  silence(): void;
  /** Ends all connections that are not blocked, and every new one at once. */
  shut(): void;
  open(): void;
  close(): Promise<void>;
}

/** @param rewrite changes what the server sends; by default nothing is changed */
export async function startTcpGate(
  first: Target,
  rewrite: (chunk: Buffer) => Buffer = (chunk) => chunk,
): Promise<TcpGate> {
  let target = first;
  const sockets = new Set<Socket>();
  const silent = new Set<Socket>();
  let isOpen = true;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  };
  const server = net.createServer((client) => {
    keep(client);
    if (!isOpen) return void client.destroy();
    const upstream = net.connect(target);
    keep(upstream);
    const back = new Transform({ transform: (chunk: Buffer, _, done) => done(null, rewrite(chunk)) });
    client.pipe(upstream).pipe(back).pipe(client);
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => void (silent.has(client) || client.destroy()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const shut = () => {
    isOpen = false;
    for (const socket of sockets) if (!silent.has(socket)) socket.destroy();
  };
  const silence = () => {
    for (const socket of sockets) silent.add(socket.unpipe().resume());
  };
  return {
    port: (server.address() as AddressInfo).port,
    leadTo: (other) => void (target = other),
    silence,
    shut,
    open: () => void (isOpen = true),
    async close() {
      silent.clear();
      shut();
      server.close();
      await once(server, 'close');
    },
  };
}
