import type { Socket } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The address and port of a client. */
export interface Client {
  remoteAddress: string;
  remotePort: number;
}

/** Limits the connections of each network, and how long a connection may last. */
export interface ConnectionLimits {
  /** Call for each accepted socket. @param client whose connection it is: the socket's peer, or whom a proxy announced */
  admit(socket: Socket, client: Client): void;
  /** Whether the network of this address has too many connections. */
  exceeded(address: string): boolean;
  /** Call when the client begins to send a message. */
  dataBegan(client: Client): void;
  /** Call when the reply to the message was sent. It starts the time limit for the next message. */
  dataEnded(client: Client): void;
}

interface MaxConnections {
  perNetwork: number;
  /** How long a client may take until it sends its first or next message. */
  untilDataMs: number;
  /** Maximum duration of a connection, in case a client sends only a byte a second. */
  lifetimeMs: number;
}

/** Node's `remoteAddress` is `::ffff:192.0.2.1` on a socket for both IPv4 and IPv6; smtp-server drops the prefix. */
function addressOf(text: string | undefined): ipaddr.IPv4 | ipaddr.IPv6 | null {
  return text !== undefined && ipaddr.isValid(text) ? ipaddr.process(text) : null;
}

/** @returns the IPv4 address, or the IPv6 /48, because one customer may control all of it */
export function networkOf(text: string | undefined): string {
  const address = addressOf(text);
  // A client that has already disconnected has no address.
  if (address === null) return 'unknown';
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 3).join(':') : address.toString();
}

const clientOf = (address: string | undefined, port: number | undefined) =>
  `${addressOf(address)?.toString() ?? 'unknown'} ${port ?? 0}`;

export function createConnectionLimits(max: MaxConnections): ConnectionLimits {
  const open = new Map<string, number>();
  const silent = new Map<string, { start: () => void; stop: () => void }>();

  function watch(socket: Socket, { remoteAddress, remotePort }: Client): () => void {
    const client = clientOf(remoteAddress, remotePort);
    let timer: NodeJS.Timeout | undefined;
    const stop = () => clearTimeout(timer);
    const start = () => {
      stop();
      timer = setTimeout(() => socket.destroy(), max.untilDataMs).unref();
    };
    const watched = { start, stop };
    silent.set(client, watched);
    start();
    return () => {
      stop();
      if (silent.get(client) === watched) silent.delete(client);
    };
  }

  return {
    admit(socket, client) {
      const network = networkOf(client.remoteAddress);
      open.set(network, (open.get(network) ?? 0) + 1);
      const timer = setTimeout(() => socket.destroy(), max.lifetimeMs).unref();
      const unwatch = watch(socket, client);
      socket.once('close', () => {
        clearTimeout(timer);
        unwatch();
        const left = (open.get(network) ?? 1) - 1;
        if (left > 0) open.set(network, left);
        else open.delete(network);
      });
    },
    exceeded: (address) => (open.get(networkOf(address)) ?? 0) > max.perNetwork,
    dataBegan: ({ remoteAddress, remotePort }) => silent.get(clientOf(remoteAddress, remotePort))?.stop(),
    dataEnded: ({ remoteAddress, remotePort }) => silent.get(clientOf(remoteAddress, remotePort))?.start(),
  };
}
