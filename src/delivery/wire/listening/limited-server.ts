import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { ConnectionLimits } from './connections.ts';

const BUSY = '4.3.2 too many connections; try again later';

/**
 * A server that may be behind proxies, and limits its connections. The library takes only a list of addresses of
 * proxies, not networks, and refuses new connections while others are idle.
 */
export class LimitedServer extends SMTPServer {
  readonly #isProxy: (address: string) => boolean;
  readonly #connections: ConnectionLimits;

  constructor(
    options: SMTPServerOptions,
    isProxy: (address: string) => boolean,
    connections: ConnectionLimits,
  ) {
    super(options);
    this.#isProxy = isProxy;
    this.#connections = connections;
  }

  override _expectsProxyHeader(socket: Socket): boolean {
    return this.#isProxy(socket.remoteAddress ?? '');
  }

  /** Called when the client of a socket is known. */
  override connect(...[socket, announced]: Parameters<SMTPServer['connect']>): void {
    // The library would count a connection for ever whose close it has missed.
    if (socket.destroyed) return;
    const id = announced?.id ?? randomUUID();
    const remoteAddress = announced?.remoteAddress ?? socket.remoteAddress ?? '';
    const close = () => this.#close(id);
    const destroy = () => void socket.destroy();
    if (this.#connections.admit({ id, remoteAddress, close, destroy })) {
      super.connect(socket, { ...announced, id });
      return;
    }
    socket.on('error', () => undefined);
    socket.write(`421 ${this.options.name} ${BUSY}\r\n`);
    socket.destroySoon();
  }

  #close(id: string): void {
    for (const connection of this.connections) {
      if (connection.id !== id) continue;
      connection.send(421, BUSY);
      // Otherwise the library waits a few seconds for the client to close its side.
      connection._socket.destroySoon();
    }
  }
}
