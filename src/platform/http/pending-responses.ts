/** The connections of a server and their pending responses: how many there may be, and how slowly they may be read. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { endBodyDeadline } from './body-deadline.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import { countedRequest } from './counted-request.ts';

/** Requests of one connection in progress. Clients that pipeline send a few at once. */
const MAX_PER_CONNECTION = 16;
/** Requests in progress that arrived behind another one on their connection, on all connections together. */
const MAX_BEHIND = 2_000;
/** In each interval a client must take this much of a response, or all that is ready. */
const PACE_MS = 30_000;
const PACE_BYTES = 64 * 1024;

export interface Connection {
  pending: Set<ServerResponse>;
  /** Whether it ends after its last pending response. */
  closing: boolean;
  /** What the client had taken when the interval began. Null if nothing was ready then that it had not taken. */
  takenBefore: number | null;
}

/** Fields on which Node's own time-outs rely. Its public counters count a large write only when all of it is sent. */
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
   * @returns false if there are too many: ignore the request, its connection is closed
   */
  add(response: ServerResponse): boolean {
    const { socket } = response.req;
    // The parser goes on to the end of what it has read.
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
