/**
 * The connections of a server and their pending responses. Limits the number of responses, and how slowly clients may
 * read them.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { endBodyDeadline } from './body-deadline.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import { countedRequest } from './counted-request.ts';

/** Maximum number of requests in progress on one connection. Clients that pipeline send a few at once. */
const MAX_PER_CONNECTION = 16;
/**
 * Maximum number of requests, over all connections, that arrived while another request of their connection was in
 * progress.
 */
const MAX_BEHIND = 2_000;
/** Number of bytes of a response that a client must read in each interval, unless it has read all that is ready. */
const PACE_MS = 30_000;
const PACE_BYTES = 64 * 1024;

export interface Connection {
  pending: Set<ServerResponse>;
  /** Whether the connection closes after its last pending response. */
  closing: boolean;
  /** Number of bytes that the client had read when the interval began; null if it had read all that was ready. */
  takenBefore: number | null;
}

/**
 * Internal fields on which Node's own time-outs rely. Node's public counters count a large write only when all of it is
 * sent.
 */
interface SocketInternals {
  _bytesDispatched?: number;
  _handle?: { writeQueueSize?: number } | null;
}

function takenBytes(socket: Socket): number {
  const { _bytesDispatched: written = socket.bytesWritten, _handle: handle } =
    socket as unknown as SocketInternals;
  return written - (handle?.writeQueueSize ?? 0);
}

function isTooSlow(connection: Connection, socket: Socket): boolean {
  const before = connection.takenBefore;
  const isWaiting = connection.pending.size > 0 && socket.writableLength > 0;
  connection.takenBefore = isWaiting ? takenBytes(socket) : null;
  return before !== null && connection.takenBefore !== null && connection.takenBefore - before < PACE_BYTES;
}

export class PendingResponses {
  readonly #connections = new Map<Duplex, Connection>();
  readonly #limits: ConnectionLimits | undefined;
  readonly #sweep: NodeJS.Timeout;
  #behind = 0;

  constructor(limits: ConnectionLimits | undefined) {
    this.#limits = limits;
    this.#sweep = setInterval(() => this.#endUnread(), PACE_MS).unref();
  }

  of(socket: Duplex): Connection | undefined {
    return this.#connections.get(socket);
  }

  /**
   * Adds the response to a request that has arrived.
   * @returns false if there are too many; ignore the request then, because its connection is being closed
   */
  add(response: ServerResponse): boolean {
    const { socket } = response.req;
    // The parser continues to the end of what it has read.
    if (socket.destroyed) return false;
    const connection = this.#connections.get(socket) ?? this.#open(socket);
    const { pending } = connection;
    if (pending.size >= MAX_PER_CONNECTION || (pending.size > 0 && this.#behind >= MAX_BEHIND)) {
      socket.destroy();
      return false;
    }
    if (pending.size > 0) this.#behind += 1;
    pending.add(response);
    this.#limits?.begin(socket);
    response.once('close', () => this.#remove(connection, socket, response));
    return true;
  }

  stop(): void {
    clearInterval(this.#sweep);
  }

  #open(socket: Socket): Connection {
    const connection: Connection = { pending: new Set(), closing: false, takenBefore: null };
    this.#connections.set(socket, connection);
    socket.once('close', () => {
      this.#connections.delete(socket);
      // Of the pending responses, Node closes only the first.
      for (const response of [...connection.pending]) this.#remove(connection, socket, response);
    });
    return connection;
  }

  #remove(connection: Connection, socket: Socket, response: ServerResponse): void {
    if (!connection.pending.delete(response)) return;
    if (connection.pending.size > 0) this.#behind -= 1;
    else this.#limits?.end(socket);
    endBodyDeadline(countedRequest(response.req));
  }

  #endUnread(): void {
    for (const [socket, connection] of this.#connections) {
      if (isTooSlow(connection, socket as Socket)) socket.destroy();
    }
  }
}
