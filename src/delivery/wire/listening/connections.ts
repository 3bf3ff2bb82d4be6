import ipaddr from 'ipaddr.js';
import { createConnectionSlots } from '../../../platform/processes/connection-slots.ts';

/** An open connection. */
export interface MailConnection {
  /** The id of its session. */
  id: string;
  /** The socket's peer, or the client that a proxy announced. */
  remoteAddress: string;
  /** Closes it because another connection takes its place; the client should try again later. */
  close: () => void;
  /** Ends it at once: the client takes too long. */
  destroy: () => void;
}

/** Limits the connections of each network and of all, and how long a connection may last. */
export interface ConnectionLimits {
  /**
   * Call for each new connection. If there are too many, closes the one whose last message, or whose beginning, is the
   * longest ago: of its network or of all. One that is sending a message stays.
   * @returns false if all are sending messages: refuse the connection
   */
  admit(connection: MailConnection): boolean;
  /** Call when the client begins to send a message. @param id of the session, as in the other functions */
  dataBegan(id: string): void;
  /** Call when the message was taken or refused. It starts the time limit for the next message. */
  dataEnded(id: string): void;
  /** Call when a connection is closed. */
  closed(id: string): void;
}

interface MaxConnections {
  total: number;
  perNetwork: number;
  /** How long a client may take until it sends its first or next message. */
  untilDataMs: number;
  /** Maximum duration of a connection, in case a client sends only a byte a second. */
  lifetimeMs: number;
  /** Called from time to time while connections are refused. */
  report: (fields: { connections: number }) => void;
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

/** An admitted connection with its time limits. */
class Watched {
  readonly connection: MailConnection;
  readonly #untilDataMs: number;
  readonly #life: NodeJS.Timeout;
  #silence: NodeJS.Timeout | undefined;

  constructor(connection: MailConnection, { untilDataMs, lifetimeMs }: MaxConnections) {
    this.connection = connection;
    this.#untilDataMs = untilDataMs;
    this.#life = setTimeout(() => connection.destroy(), lifetimeMs).unref();
    this.awaitData();
  }

  awaitData(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.connection.destroy(), this.#untilDataMs).unref();
  }

  dataBegan(): void {
    clearTimeout(this.#silence);
  }

  closed(): void {
    clearTimeout(this.#silence);
    clearTimeout(this.#life);
  }
}

export function createConnectionLimits(max: MaxConnections): ConnectionLimits {
  const open = new Map<string, Watched>();
  const slots = createConnectionSlots<string>({
    max: max.total,
    maxPerNetwork: max.perNetwork,
    close: (id) => open.get(id)?.connection.close(),
    report: max.report,
  });
  return {
    admit(connection) {
      const { id, remoteAddress } = connection;
      if (!slots.admit(id, networkOf(remoteAddress))) return false;
      open.set(id, new Watched(connection, max));
      return true;
    },
    dataBegan(id) {
      open.get(id)?.dataBegan();
      slots.begin(id);
    },
    dataEnded(id) {
      open.get(id)?.awaitData();
      slots.end(id);
    },
    closed(id) {
      open.get(id)?.closed();
      open.delete(id);
      slots.forget(id);
    },
  };
}
