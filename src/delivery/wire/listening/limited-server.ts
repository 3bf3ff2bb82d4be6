import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { createConnectionSlots } from '../../../platform/processes/connection-slots.ts';
import { type ConnectionLimits, networkOf } from './connections.ts';

export interface LimitedServerOptions {
  /** Whether the peer announces its client with the PROXY protocol. */
  isProxy: (address: string) => boolean;
  connections: ConnectionLimits;
  /** Maximum number of sockets that have not begun to speak SMTP: without their PROXY header, or in a TLS handshake. */
  pending: { total: number; perNetwork: number };
}

const BUSY = '4.3.2 too many connections; try again later';
const STOPPING = '4.3.2 this server is stopping; try again';
/** For the PROXY header and the handshake together. */
const PENDING_MS = 10_000;

/**
 * A server that may be behind proxies, and limits its connections. The library takes only a list of addresses of
 * proxies, not networks, and refuses new connections while others are idle.
 */
export class LimitedServer extends SMTPServer {
  readonly #options: LimitedServerOptions;
  readonly #pending;

  /** @param server without `maxClients`: the limits are ours */
  constructor(server: SMTPServerOptions, options: LimitedServerOptions) {
    super(server);
    this.#options = options;
    this.#pending = createConnectionSlots<Socket>({
      max: options.pending.total,
      maxPerNetwork: options.pending.perNetwork,
      close: (socket) => this.#destroyPending(socket),
      report: () => undefined,
    });
  }

  override _expectsProxyHeader(socket: Socket): boolean {
    return this.#options.isProxy(socket.remoteAddress ?? '');
  }

  /**
   * Called for each new socket. The library drops new ones while too many are pending, so clients that connect and say
   * nothing would lock the others out: here, the one that has been pending longest makes room.
   */
  override _acceptSocket(...[socket, handshake]: Parameters<SMTPServer['_acceptSocket']>) {
    const isProxied = this._expectsProxyHeader(socket);
    const release = super._acceptSocket(socket, handshake);
    if (release === false || (!handshake && !isProxied)) return release;
    // All clients of a proxy have its address until their header is read.
    this.#pending.admit(socket, isProxied ? null : networkOf(socket.remoteAddress));
    const late = setTimeout(() => this.#destroyPending(socket), PENDING_MS).unref();
    const forget = () => {
      clearTimeout(late);
      this.#pending.forget(socket);
    };
    socket.once('close', forget);
    return () => {
      socket.removeListener('close', forget);
      forget();
      release();
    };
  }

  /** Called when the client of a socket is known. */
  override connect(...[socket, announced]: Parameters<SMTPServer['connect']>): void {
    // The library would count a connection for ever whose close it has missed.
    if (socket.destroyed) return;
    const id = announced?.id ?? randomUUID();
    const remoteAddress = announced?.remoteAddress ?? socket.remoteAddress ?? '';
    const close = () => this.hangUp(id, BUSY);
    const destroy = () => void socket.destroy();
    if (this.#options.connections.admit({ id, remoteAddress, close, destroy })) {
      super.connect(socket, { ...announced, id });
      return;
    }
    socket.on('error', () => undefined);
    socket.write(`421 ${this.options.name} ${BUSY}\r\n`);
    socket.destroySoon();
  }

  /**
   * Closes the connection of a session.
   * @param text of a reply 421, with its enhanced status code; null: none, because the last reply says why
   */
  hangUp(id: string, text: string | null): void {
    for (const connection of this.connections) {
      if (connection.id !== id) continue;
      if (text !== null) connection.send(421, text);
      // Otherwise the library waits a few seconds for the client to close its side.
      connection._socket.destroySoon();
    }
  }

  /**
   * Refuses new connections, hangs up on clients that send nothing, and waits for the others.
   * @param isBusy whether a session is sending a message, or waits for the reply to one
   */
  stop(isBusy: (id: string) => boolean): Promise<void> {
    const closed = new Promise<void>((done) => this.close(() => done()));
    for (const { id } of this.connections) if (!isBusy(id)) this.hangUp(id, STOPPING);
    return closed;
  }

  /** Destroys the TLS socket if there is one: Node.js crashes if its socket is destroyed below it in a handshake. */
  #destroyPending(socket: Socket): void {
    (this._pendingSockets.get(socket) ?? socket).destroy();
  }
}
